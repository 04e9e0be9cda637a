// Package fifo holds the queues FIFO and DeltaFIFO.
package fifo
