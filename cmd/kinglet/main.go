// Command kinglet watches a Kubernetes cluster: see kinglet --help.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	_ "k8s.io/client-go/plugin/pkg/client/auth" // the ways to log in that client-go has

	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/command"
)

func main() {
	os.Exit(run())
}

func run() int {
	ctx, restore := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer restore()
	// The first signal asks for an end. After it signals do again what they
	// do by default, so that the second ends the process at once.
	context.AfterFunc(ctx, restore)
	// A write to a pipe that nobody reads is to fail, not to kill. Notify, in
	// contrast to Ignore, is not inherited by programs that get credentials.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)

	return command.Run(ctx, os.Args[1:], command.Streams{
		Out:     os.Stdout,
		Err:     os.Stderr,
		NoColor: os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb",
	})
}
