// Kinglet-cluster runs a real Kubernetes control plane with simulated nodes in
// one process, until it is interrupted.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		stop(fmt.Errorf("interrupted (%v)", <-signals))
		<-signals
		os.Exit(130)
	}()
	if err := newCommand(os.Stdin, os.Stdout, os.Stderr).ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "kinglet-cluster:", err)
		os.Exit(1)
	}
}
