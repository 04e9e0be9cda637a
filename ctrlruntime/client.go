package ctrlruntime

import (
	"cmp"
	"net/http"
	"reflect"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NewClient is Options.NewClient with the zero Options: a client.NewClientFunc.
func NewClient(cfg *rest.Config, opts client.Options) (client.Client, error) {
	return Options{}.NewClient(cfg, opts)
}

// NewClient returns a client whose writes are in the reads of its cache as soon as they
// return. It is a client.NewClientFunc, for ctrl.Options and cluster.Options, and the
// client is controller-runtime's in every other respect.
//
// The cache is opts.Cache.Reader, which must be one that NewCache of this package made
// on kinglet. With another reader, with none, and with KINGLET=off in the environment,
// NewClient is client.New.
//
// What Create, Update, Patch, Apply and Delete return, also for a subresource, is in
// each Get, List and view of the cache that begins later: typed, unstructured and
// metadata, whichever of them wrote. Nothing waits for that, except where the answer does
// not tell what the informer will have:
//
//   - A write by metadata is not an object for an informer of whole ones. Built-in
//     types are written in protobuf, which cannot be read into unstructured objects.
//     The answer to a scale, or in another API version, is of another type.
//   - DeleteAllOf returns the objects as they were before it.
//   - The cache has a field selector, and the object does not have the field.
//   - The server deleted an object that the cache had not seen, while it held another one
//     of that name.
//
// Then a Get of such an object, and a List of its namespace, wait until the watch has
// shown the write, for at most ten seconds, and then fail with a
// *kinglet.WriteNotSeenError, which names the kind, the object and the version. From two
// minutes after the write they wait no longer, and that is logged. Views never wait.
//
// A kind, or a namespace of SetNamespaces, that is first listed within two minutes after
// a write is listed from the server's latest state.
//
// An object that the cache's selectors do not cover after a write is removed from
// reads, or never shown, and nothing waits for it. Dry runs, evictions, bindings and
// tokens change no read, and nothing waits for them. With controller-runtime 0.25 and
// later, a write with the option client.DisableReadYourWritesConsistency is not
// recorded, and a read with it does not wait.
//
// opts.Cache.EnableReadYourWritesConsistency is not needed, and is switched off: with it,
// reads would wait for each write.
func (o Options) NewClient(cfg *rest.Config, opts client.Options) (client.Client, error) {
	if opts.Cache == nil || cfg == nil {
		return client.New(cfg, opts)
	}
	c, ours := opts.Cache.Reader.(*Cache)
	if !ours {
		return client.New(cfg, opts)
	}
	if opts.HTTPClient == nil {
		var err error
		if opts.HTTPClient, err = rest.HTTPClientFor(named(cfg)); err != nil {
			return nil, err
		}
	}
	recording := *opts.HTTPClient
	recording.Transport = c.own.Wrap(cmp.Or(recording.Transport, http.DefaultTransport))
	opts.HTTPClient = &recording
	reads := *opts.Cache
	// controller-runtime 0.24 does not have waits of its own.
	if f := reflect.ValueOf(&reads).Elem().FieldByName("EnableReadYourWritesConsistency"); f.IsValid() {
		f.SetZero()
	}
	opts.Cache = &reads
	wrapped, err := client.New(cfg, opts)
	if err != nil {
		return nil, err
	}
	return &recordingClient{Client: wrapped}, nil
}
