package command

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/follow"
	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/trouble"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// usageError is an error in the command line. Nothing was tried.
type usageError struct{ error }

// Run executes the command line and returns the exit code. It blocks until the command has
// ended, which is soon after ctx does at the latest.
func Run(ctx context.Context, args []string, streams Streams) int {
	root := newRoot(streams)
	if len(args) > 0 && args[0] == "get" {
		args = append([]string{"--"}, args...) // its flags are for the command that is proposed
	}
	root.SetArgs(args)
	root.SetIn(strings.NewReader("")) // nothing is asked
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	done := make(chan error, 1)
	go func() { done <- root.ExecuteContext(ctx) }()
	var err error
	select {
	case err = <-done:
	case <-abandoned(ctx):
		return exitFailed
	}
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, follow.ErrShown):
		return exitFailed
	}
	fmt.Fprintln(streams.Err, "error: "+trouble.OneLine(err.Error()))
	if _, usage := errors.AsType[usageError](err); usage {
		return exitUsage
	}
	return exitFailed
}

// abandoned returns a channel that is closed some time after ctx has ended: whoever reads stdout
// may have stopped reading, and then no write ends.
func abandoned(ctx context.Context) <-chan struct{} {
	late := make(chan struct{})
	context.AfterFunc(ctx, func() { time.AfterFunc(2*time.Second, func() { close(late) }) })
	return late
}

func newRoot(streams Streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "kinglet",
		Short: "Watch a Kubernetes cluster through kinglet's informers",
		Long: `kinglet keeps a live copy of what a Kubernetes API server has, and shows how
it changes. It takes the flags and the kubeconfig that kubectl takes.`,
		Example:       "  kinglet watch pods,deployments --all-namespaces",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return unknownCommand(cmd, args)
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w; see: %s --help", err, cmd.CommandPath())}
	})
	root.SuggestionsMinimumDistance = 2
	root.AddCommand(newWatch(streams), newFields(streams), &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) {
			kinglet, clientGo := versions()
			fmt.Fprintf(streams.Out, "kinglet %s\n%s %s/%s\nclient-go %s\n", kinglet, runtime.Version(), runtime.GOOS, runtime.GOARCH, clientGo)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	})
	return root
}

// unknownCommand returns the error for an unknown command. Users type a resource, or get.
func unknownCommand(cmd *cobra.Command, args []string) error {
	hint := "to watch resources of that name: kinglet watch " + args[0]
	if args[0] == "get" && len(args) > 1 {
		hint = "did you mean: kinglet watch " + strings.Join(args[1:], " ")
	} else if similar := cmd.SuggestionsFor(args[0]); len(similar) > 0 {
		hint = "did you mean: kinglet " + similar[0]
	}
	return usageError{fmt.Errorf("unknown command %q; %s", args[0], hint)}
}

// versions reads the build information that is in the binary.
func versions() (kinglet, clientGo string) {
	kinglet, clientGo = "unknown", "unknown"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return kinglet, clientGo
	}
	if info.Main.Version != "" {
		kinglet = info.Main.Version
	}
	for _, dep := range info.Deps {
		if dep.Path == "k8s.io/client-go" {
			clientGo = dep.Version
		}
	}
	return kinglet, clientGo
}

// userAgent is what the API server's audit log shows.
func userAgent() string {
	kinglet, _ := versions()
	return fmt.Sprintf("kinglet/%s (%s/%s)", strings.Trim(kinglet, "()"), runtime.GOOS, runtime.GOARCH)
}
