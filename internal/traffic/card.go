package traffic

// Card describes the network card behind a port, with the settings that it has while the
// port is tested. What is not known is empty.
type Card struct {
	// DriverVersion and Firmware as the driver reports them.
	DriverVersion, Firmware string
	// PCIe is the speed and the width of the card's link to the processor, such as
	// "16.0 GT/s PCIe x8".
	PCIe string
	// NUMANode that the card is attached to; nil where it belongs to none.
	NUMANode *int
	// InterruptCPUs are the processors that serve the interrupts of the card.
	InterruptCPUs []int
	// ReceiveRing and TransmitRing are the descriptors of a queue.
	ReceiveRing, TransmitRing int
	// Coalescing of interrupts, such as "receive 3 µs, transmit 3 µs".
	Coalescing string
	// ReceiveQueues is the number of queues, and TestQueue the one that receives all test
	// frames; nil where they are spread over the queues.
	ReceiveQueues int
	TestQueue     *int
	// Pause is the use of pause frames: "off", "receive", "send" or "receive and send".
	Pause string
}
