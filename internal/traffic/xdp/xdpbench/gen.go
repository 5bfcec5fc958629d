package xdpbench

//go:generate go tool bpf2go -target bpfel -go-package xdpbench -output-stem bare bare bpf/bare.c -- -O2 -g -mcpu=v3 -Wall -Werror
