package xdp

//go:generate go tool bpf2go -target bpfel -go-package xdp -output-stem port -type tx_stream -type tx_sender -type tx_port -type tx_group -type tx_due -type tx_frame -type ending -type rx_flow -type rx_stream -type rx_trial -type rx_port -type hole -type captured -type captures port bpf/port.c -- -O2 -g -mcpu=v3 -Wall -Werror
//go:generate go tool bpf2go -target bpfel -go-package xdp -output-stem tag tag bpf/tag.c -- -O2 -g -mcpu=v3 -Wall -Werror
//go:generate go tool bpf2go -target bpfel -go-package xdp -output-stem testdut -output-suffix _test -type faults dut bpf/testdut.c -- -O2 -g -mcpu=v3 -Wall -Werror
