package command

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/eventlog"
	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/follow"
)

// watchFlags are the flags of kinglet watch, except those of the connection.
type watchFlags struct {
	allNamespaces                bool
	labelSelector, fieldSelector string
	print                        *genericclioptions.PrintFlags
	showInitial                  bool
	duration                     time.Duration
	http                         string
	verbosity                    int
}

// validate returns every problem at once. The printer is nil for lines and for JSON.
func (f *watchFlags) validate(targets []target) (printer printers.ResourcePrinter, err error) {
	var errs []error
	if _, err := labels.Parse(f.labelSelector); err != nil {
		errs = append(errs, fmt.Errorf("--selector %q: %w", f.labelSelector, err))
	}
	if _, err := fields.ParseSelector(f.fieldSelector); err != nil {
		errs = append(errs, fmt.Errorf("--field-selector %q: %w", f.fieldSelector, err))
	}
	if len(targets) > 0 && targets[0].name != "" {
		if f.labelSelector != "" || f.fieldSelector != "" {
			errs = append(errs, errors.New("name cannot be provided when a selector is specified"))
		}
		if f.allNamespaces {
			errs = append(errs, errors.New("a resource cannot be retrieved by name across all namespaces"))
		}
	}
	for _, format := range []string{"wide", "json"} {
		if strings.EqualFold(*f.print.OutputFormat, format) { // as for kubectl
			*f.print.OutputFormat = format
		}
	}
	template := f.print.TemplatePrinterFlags.TemplateArgument
	if !slices.Contains([]string{"", "wide", "json"}, *f.print.OutputFormat) || *f.print.OutputFormat == "" && *template != "" {
		if printer, err = f.print.ToPrinter(); err != nil {
			errs = append(errs, err)
		}
	}
	if f.duration < 0 {
		errs = append(errs, fmt.Errorf("--for %v: it must not be negative", f.duration))
	}
	return printer, errors.Join(errs...)
}

func newWatch(streams Streams) *cobra.Command {
	flags := watchFlags{print: genericclioptions.NewPrintFlags("")}
	conn := newConnection()
	cmd := &cobra.Command{
		Use:   "watch (RESOURCE[,RESOURCE…] | RESOURCE NAME… | RESOURCE/NAME…)",
		Short: "Show what changes, as it changes",
		Long: `Keep a live copy of resources, and show what changes in it: one line an event,
with the fields that differ. Every 10 seconds on stderr, a status line: objects,
events a second, and memory.

Resources are named as kubectl names them: pods, po, deployments.apps,
deployments.v1.apps, custom resources, and categories such as all.

The data of Secrets is not shown, except by output formats that print the
whole object, such as json and yaml.

If lines cannot be written as fast as things change, several updates of one
object are shown as one.`,
		Example: `  # Pods of one namespace
  kinglet watch pods -n shop

  # One pod, as it is and as it becomes
  kinglet watch pod/web-0 -o yaml

  # Pods and deployments of all namespaces, with everything that changes
  kinglet watch po,deploy -A -o wide

  # For programs: one JSON document an event, for a minute
  kinglet watch pods -A -o json --for 1m`,
		ValidArgsFunction: conn.completeResources,
		RunE: func(cmd *cobra.Command, args []string) error {
			targets, err := parseTargets(args)
			if err != nil {
				return usageError{err}
			}
			printer, err := flags.validate(targets)
			if err != nil {
				return usageError{err}
			}
			if !cmd.Flags().Changed("show-initial") {
				// To ask for an object, or for whole objects, is to ask how they are now.
				flags.showInitial = printer != nil || targets[0].name != ""
			}
			var page net.Listener
			if flags.http != "" {
				// Before anything is asked of a server.
				if page, err = net.Listen("tcp", flags.http); err != nil {
					return fmt.Errorf("--http: %w", err)
				}
				defer page.Close()
			}
			logLevel(flags.verbosity)
			if err := conn.open(cmd.Flags()); err != nil {
				return err
			}
			return runWatch(cmd.Context(), conn, targets, flags, printer, page, streams)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.BoolVarP(&flags.allNamespaces, "all-namespaces", "A", false, "Watch all namespaces, whatever --namespace says")
	fs.StringVarP(&flags.labelSelector, "selector", "l", "", "Label selector, such as app=web,tier!=cache")
	fs.StringVar(&flags.fieldSelector, "field-selector", "", "Field selector, such as spec.nodeName=node-1")
	flags.print.AddFlags(cmd)
	fs.Lookup("output").Usage = "wide: versions, reasons, and all that changes; json: one JSON document an event; yaml, name, jsonpath=…, go-template=… and others as in kubectl, an object an event. Nothing else goes to stdout"
	fs.BoolVar(&flags.showInitial, "show-initial", false, "Show an event for every object that exists already; the default if objects are named, and with yaml, name and templates")
	fs.DurationVar(&flags.duration, "for", 0, "Stop after this time, such as 30s or 5m")
	fs.StringVar(&flags.http, "http", "", "Serve a page of what is watched at this address, such as :8080 or localhost:8080; anybody who reaches it sees names and errors, and no objects")
	fs.IntVarP(&flags.verbosity, "v", "v", 0, "Log level of the Kubernetes client libraries, as in kubectl")
	fs.BoolP("watch", "w", true, "Has no effect: for fingers used to kubectl get")
	conn.flags.AddFlags(fs)
	conn.completeFlags(cmd, "wide", "json", "yaml", "name")
	return cmd
}

func runWatch(ctx context.Context, conn *connection, targets []target, flags watchFlags, printer printers.ResourcePrinter, page net.Listener, streams Streams) error {
	note := func(line string) { fmt.Fprintln(streams.Err, line) }
	asking, stop := ctx, context.CancelFunc(func() {})
	if flags.duration > 0 {
		asking, stop = context.WithTimeout(ctx, flags.duration)
	}
	defer stop()
	resources, errs := conn.resolve(asking, targets, note)
	switch {
	case ctx.Err() != nil:
		return nil // interrupted before anything was shown
	case len(resources) == 0 && asking.Err() != nil:
		return fmt.Errorf("%s has not answered as long as --for said", conn.subject.Server)
	}
	for _, err := range errs {
		note("error: " + conn.explainLookup(err, targets))
	}
	if len(resources) == 0 {
		return follow.ErrShown
	}
	output := *flags.print.OutputFormat
	out := follow.NewOutput(streams.Out, streams.Err)
	config := rest.CopyConfig(conn.config)
	config.WarningHandler = rest.NewWarningWriter(noteWriter{out}, rest.WarningWriterOptions{Deduplicate: true})
	opts := follow.Options{
		Config:        config,
		Resources:     resources,
		Namespace:     conn.namespace,
		LabelSelector: flags.labelSelector,
		FieldSelector: flags.fieldSelector,
		Output:        out,
		Initial:       flags.showInitial,
		For:           flags.duration,
		Page:          page,
		Subject:       conn.subject,
	}
	if flags.allNamespaces {
		opts.Namespace = ""
	}
	switch {
	case printer != nil:
		opts.Format = printed(printer, strings.EqualFold(output, "yaml"))
	case output == "json":
		opts.Format = func(buf []byte, e eventlog.Event) ([]byte, error) {
			return eventlog.AppendJSON(buf, e, flags.print.JSONYamlPrintFlags.ShowManagedFields)
		}
	default:
		lines := eventlog.NewLines(eventlog.LinesOptions{Wide: output == "wide", Color: streams.colors(), Width: streams.width, Resources: follow.Names(resources)})
		opts.Exists = lines.Widen
		opts.Format = func(buf []byte, e eventlog.Event) ([]byte, error) { return lines.Append(buf, e), nil }
	}
	err := follow.Run(ctx, opts)
	if err == nil && len(errs) > 0 {
		return follow.ErrShown
	}
	return err
}

// printed formats events with a printer of kubectl's, which prints objects, as kubectl get
// --watch does. Printers are not safe for concurrent use. Each object of YAML begins a
// document: kubectl's printer separates it from what it printed before, but what several
// resources have printed is written in another order.
func printed(printer printers.ResourcePrinter, isYAML bool) func([]byte, eventlog.Event) ([]byte, error) {
	const begin = "---\n"
	var mu sync.Mutex
	return func(buf []byte, e eventlog.Event) ([]byte, error) {
		obj := e.Object()
		if obj == nil {
			return buf, nil
		}
		mu.Lock()
		defer mu.Unlock()
		var b bytes.Buffer
		// A printer may leave out fields in place, and this object is the store's.
		err := printer.PrintObj(obj.DeepCopy(), &b)
		if isYAML && !bytes.HasPrefix(b.Bytes(), []byte(begin)) {
			buf = append(buf, begin...)
		}
		return append(buf, b.Bytes()...), err
	}
}

// noteWriter shows lines as notes.
type noteWriter struct{ *follow.Output }

func (w noteWriter) Write(line []byte) (int, error) {
	w.Note(string(bytes.TrimRight(line, "\n")))
	return len(line), nil
}

// logLevel sets how much the client libraries log on stderr. Nothing by default: their
// errors are shown in better words.
func logLevel(verbosity int) {
	if verbosity <= 0 {
		klog.SetLogger(klog.New(nil))
		return
	}
	klog.ClearLogger()
	fs := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(fs)
	if err := fs.Set("v", strconv.Itoa(verbosity)); err != nil {
		panic("BUG: " + err.Error())
	}
}
