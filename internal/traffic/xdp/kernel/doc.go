// Package kernel holds the BPF programs of the engine xdp and what they read: the streams that they
// send and expect, their bodies, and the numbers that were never sent.
package kernel

//go:generate go tool bpf2go -target bpfel -go-package kernel -output-stem port -type tx_stream -type tx_sender -type tx_port -type tx_group -type tx_due -type tx_frame -type ending -type rx_flow -type rx_stream -type rx_trial -type rx_port -type rx_pauses -type rx_notify -type rx_microflow -type tracked -type hole -type captured -type captures Port ../bpf/port.c -- -O2 -g -mcpu=v3 -Wall -Werror
//go:generate go tool bpf2go -target bpfel -go-package kernel -output-stem tag Tag ../bpf/tag.c -- -O2 -g -mcpu=v3 -Wall -Werror
