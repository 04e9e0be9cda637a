package command

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/eventlog"
	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/follow"
	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/resolve"
	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/screen"
)

// watchFlags are the flags of kinglet watch, except those of the connection.
type watchFlags struct {
	allNamespaces                bool
	labelSelector, fieldSelector string
	output                       string
	showInitial                  bool
	duration                     time.Duration
	statusEvery                  time.Duration
	http                         string
	verbosity                    int
}

// validate returns every problem at once.
func (f *watchFlags) validate() error {
	var errs []error
	if _, err := labels.Parse(f.labelSelector); err != nil {
		errs = append(errs, fmt.Errorf("--selector %q: %w", f.labelSelector, err))
	}
	if _, err := fields.ParseSelector(f.fieldSelector); err != nil {
		errs = append(errs, fmt.Errorf("--field-selector %q: %w", f.fieldSelector, err))
	}
	switch f.output {
	case "", "wide", "json":
	default:
		errs = append(errs, fmt.Errorf("--output %q: it can be wide or json", f.output))
	}
	if f.duration < 0 {
		errs = append(errs, fmt.Errorf("--for %v: it must not be negative", f.duration))
	}
	if f.statusEvery < 0 {
		errs = append(errs, fmt.Errorf("--status-every %v: it must not be negative", f.statusEvery))
	}
	return errors.Join(errs...)
}

func newWatch(streams screen.Streams) *cobra.Command {
	var (
		flags watchFlags
		conn  = newConnection()
	)
	cmd := &cobra.Command{
		Use:   "watch RESOURCE[,RESOURCE…]",
		Short: "Show what changes, as it changes",
		Long: `Keep a live copy of resources, and show what changes in it: one line an event,
with the fields that differ. At the bottom of a terminal, or every 10 seconds
on stderr, a status line: objects, events a second, and memory.

Resources are named as kubectl names them: pods, po, deployments.apps,
deployments.v1.apps, custom resources, and categories such as all.

If lines cannot be written as fast as things change, several updates of one
object are shown as one.`,
		Example: `  # Pods of one namespace
  kinglet watch pods -n shop

  # Pods and deployments of all namespaces, with everything that changes
  kinglet watch po,deploy -A -o wide

  # For programs: one JSON document an event, for a minute
  kinglet watch pods -A -o json --for 1m`,
		ValidArgsFunction: conn.completeResources,
		RunE: func(cmd *cobra.Command, args []string) error {
			names, err := resolve.Split(args)
			if err != nil {
				return &usageError{err}
			}
			if err := flags.validate(); err != nil {
				return &usageError{err}
			}
			page, err := listen(flags.http)
			if err != nil {
				return err
			}
			if page != nil {
				defer page.Close()
			}
			if err := quieten(streams.Err, flags.verbosity); err != nil {
				return err
			}
			if err := conn.open(cmd.Flags()); err != nil {
				return err
			}
			return runWatch(cmd.Context(), conn, names, flags, page, streams)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.BoolVarP(&flags.allNamespaces, "all-namespaces", "A", false, "Watch all namespaces, whatever --namespace says")
	fs.StringVarP(&flags.labelSelector, "selector", "l", "", "Label selector, such as app=web,tier!=cache")
	fs.StringVar(&flags.fieldSelector, "field-selector", "", "Field selector, such as spec.nodeName=node-1")
	fs.StringVarP(&flags.output, "output", "o", "", "wide: versions, reasons, and all that changes; json: one JSON document an event, and nothing else on stdout")
	fs.BoolVar(&flags.showInitial, "show-initial", false, "Show an event for every object that exists already")
	fs.DurationVar(&flags.duration, "for", 0, "Stop after this time, such as 30s or 5m")
	fs.DurationVar(&flags.statusEvery, "status-every", 10*time.Second, "How often to print the status where stderr is no terminal; 0 for never")
	fs.StringVar(&flags.http, "http", "", "Serve a page of what is watched at this address, such as :8080 or localhost:8080; anybody who reaches it sees names and errors, and no objects")
	fs.IntVarP(&flags.verbosity, "v", "v", 0, "Log level of the Kubernetes client libraries, as in kubectl")
	conn.flags.AddFlags(fs)
	conn.completeFlags(cmd)
	return cmd
}

func runWatch(ctx context.Context, conn *connection, names []string, flags watchFlags, page net.Listener, streams screen.Streams) error {
	jsonOut, wide := flags.output == "json", flags.output == "wide"
	note := func(line string) { fmt.Fprintln(streams.Err, line) }

	resources, errs := conn.resolve(ctx, names, note)
	if ctx.Err() != nil {
		return nil // interrupted before anything was shown
	}
	for _, err := range errs {
		note("error: " + conn.explainLookup(err, names))
	}
	if len(resources) == 0 {
		return errShown
	}

	scr := screen.Open(streams, jsonOut || flags.verbosity > 0)
	config := rest.CopyConfig(conn.config)
	config.WarningHandler = &warnings{note: scr.Note}
	opts := follow.Options{
		Config:        config,
		Resources:     resources,
		Namespace:     conn.namespace,
		LabelSelector: flags.labelSelector,
		FieldSelector: flags.fieldSelector,
		Screen:        scr,
		JSON:          jsonOut,
		ShowInitial:   flags.showInitial,
		For:           flags.duration,
		StatusEvery:   flags.statusEvery,
		Page:          page,
		Subject:       conn.subject,
		Lines: eventlog.NewLines(eventlog.LinesOptions{
			Wide:      wide,
			Color:     streams.Colors(),
			Width:     streams.Width,
			Resources: resolve.ShortestNames(resources),
		}),
	}
	if flags.allNamespaces {
		opts.Namespace = ""
	}
	summary, err := follow.Run(ctx, opts)
	scr.Close()
	switch {
	case errors.Is(err, follow.ErrOutputClosed):
		return nil
	case errors.Is(err, follow.ErrGaveUp):
		return errShown
	case summary == nil:
		return err
	}
	note(summary.String())
	if err == nil && len(errs) > 0 {
		return errShown
	}
	return err
}
