package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/screen"
	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/trouble"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// usageError is an error in the command line. Nothing was tried.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// errShown ends a command whose errors have been shown.
var errShown = errors.New("failed")

// Run executes the command line and returns the exit code. It blocks until the command has
// ended, which is soon after ctx does at the latest.
func Run(ctx context.Context, args []string, streams screen.Streams) int {
	root := newRoot(streams)
	root.SetArgs(args)
	root.SetIn(strings.NewReader("")) // nothing is asked
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errShown):
		return exitFailed
	}
	fmt.Fprintln(streams.Err, "error: "+trouble.OneLine(err.Error()))
	if _, usage := errors.AsType[*usageError](err); usage {
		return exitUsage
	}
	return exitFailed
}

func newRoot(streams screen.Streams) *cobra.Command {
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
		return &usageError{fmt.Errorf("%w; see: %s --help", err, cmd.CommandPath())}
	})
	root.SuggestionsMinimumDistance = 2
	root.AddCommand(newWatch(streams), newVersion(streams.Out))
	return root
}

// unknownCommand returns the error for an unknown command. Users type a resource, or get.
func unknownCommand(cmd *cobra.Command, args []string) error {
	hint := "see: kinglet --help"
	switch {
	case args[0] == "get" && len(args) > 1:
		hint = "did you mean: kinglet watch " + strings.Join(args[1:], " ")
	case len(cmd.SuggestionsFor(args[0])) > 0:
		hint = "did you mean: kinglet " + cmd.SuggestionsFor(args[0])[0]
	default:
		hint = "to watch resources of that name: kinglet watch " + args[0]
	}
	return &usageError{fmt.Errorf("unknown command %q; %s", args[0], hint)}
}

func newVersion(out io.Writer) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(out, versionText())
			return err
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &usageError{fmt.Errorf("%s takes no arguments", cmd.CommandPath())}
	}
	return nil
}
