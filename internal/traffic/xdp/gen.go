package xdp

//go:generate go tool bpf2go -target bpfel -go-package xdp -output-stem testdut -output-suffix _test -type faults dut bpf/testdut.c -- -O2 -g -mcpu=v3 -Wall -Werror
