package follow

import (
	"errors"
	"net"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/eventlog"
	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/resolve"
	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/screen"
	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/trouble"
)

// Options say what to follow and how to show it.
type Options struct {
	// Config is shared by all resources, and so are its connections.
	Config    *rest.Config
	Resources []resolve.Resource
	// Namespace is empty for all namespaces. Resources without namespaces ignore it.
	Namespace                    string
	LabelSelector, FieldSelector string
	// Screen is where everything goes. The caller closes it.
	Screen screen.Screen
	// JSON writes documents; otherwise Lines formats the events.
	JSON  bool
	Lines *eventlog.Lines
	// ShowInitial writes an event for each object that is there already.
	ShowInitial bool
	// For ends the session after a time; 0 means never.
	For time.Duration
	// StatusEvery is how often the status is noted where the screen is not
	// live; 0 means never.
	StatusEvery time.Duration
	// Page is where a page of the collections is served; nil for none. The caller closes
	// it.
	Page net.Listener
	// Subject is what errors are explained with.
	Subject trouble.Subject
}

func (o *Options) validate() error {
	var errs []error
	if o.Config == nil {
		errs = append(errs, errors.New("no Config"))
	}
	if len(o.Resources) == 0 {
		errs = append(errs, errors.New("no Resources"))
	}
	if o.Screen == nil {
		errs = append(errs, errors.New("no Screen"))
	}
	if !o.JSON && o.Lines == nil {
		errs = append(errs, errors.New("neither Lines nor JSON"))
	}
	if o.For < 0 || o.StatusEvery < 0 {
		errs = append(errs, errors.New("negative For or StatusEvery"))
	}
	return errors.Join(errs...)
}
