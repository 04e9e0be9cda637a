package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/klog/v2"
)

// Exit codes beside 0.
const (
	exitWrong       = 1
	exitUsage       = 2
	exitInterrupted = 130
)

func main() {
	o := &options{stdout: os.Stdout}
	o.flags(flag.CommandLine)
	flag.Parse()
	if err := o.validate(); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(exitUsage)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := exitCode(run(ctx, o))
	stop()
	os.Exit(code)
}

func run(ctx context.Context, o *options) error {
	if err := notePings(); err != nil {
		return err
	}
	// Errors are caused on purpose. Informers report them to the soak, and client-go
	// logs them.
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	err := runSoak(ctx, o)
	if ctx.Err() != nil {
		// Ctrl-C ends the control plane as well, so later errors mean nothing.
		return ctx.Err()
	}
	return err
}

// notePings makes client-go notice a half-open HTTP/2 connection within 5 s instead of 45,
// so that a soak has more of them. Transports read this when they are made.
func notePings() error {
	return errors.Join(
		os.Setenv("HTTP2_READ_IDLE_TIMEOUT_SECONDS", "3"),
		os.Setenv("HTTP2_PING_TIMEOUT_SECONDS", "2"),
	)
}

func exitCode(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "soak: interrupted")
		return exitInterrupted
	}
	fmt.Fprintln(os.Stderr, "soak:", err)
	return exitWrong
}
