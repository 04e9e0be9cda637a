package ctrlruntime

import (
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
// The cache is opts.Cache.Reader, which has to be one that NewCache of this package made
// on kinglet. With another reader, or none, NewClient is client.New: so it is with
// KINGLET=off in the environment.
//
// What Create, Update, Patch, Apply, Delete and the same of a subresource returned is in
// each Get, List and view of the cache that begins later: typed, unstructured and
// metadata, whichever of them wrote. Nothing waits for that, except where an answer
// cannot be read by an informer:
//
//   - A write by metadata is not an object for an informer of whole ones. Protobuf, in
//     which a built-in type is written, cannot be read into unstructured objects. The
//     answer to a scale, and that in another API version, is another type.
//   - DeleteAllOf is answered with what the objects were before it.
//
// Then a Get of such an object, and a List of its namespace, wait until the watch has
// shown the write, for at most the WaitForWrites of the cache's Options; the error is a
// *WriteNotSeenError, which names the kind and the version. Two minutes after the write
// they wait no longer, and it is logged. Views never wait.
//
// A write that the cache's selectors do not cover is removed from reads, or never shown,
// and nothing waits for it. Dry runs, evictions, bindings and tokens change no read and
// nothing waits for them. With controller-runtime 0.25 and later, a write with the option
// client.DisableReadYourWritesConsistency is not recorded, and a read with it does not
// wait.
//
// opts.Cache.EnableReadYourWritesConsistency is not needed, and switched off: it would
// wait for each write.
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
		if opts.HTTPClient, err = rest.HTTPClientFor(cfg); err != nil {
			return nil, err
		}
	}
	recording := *opts.HTTPClient
	if recording.Transport == nil {
		recording.Transport = http.DefaultTransport
	}
	recording.Transport = c.own.Wrap(recording.Transport)
	opts.HTTPClient = &recording
	reads := *opts.Cache
	withoutTheirs(&reads)
	opts.Cache = &reads
	wrapped, err := client.New(cfg, opts)
	if err != nil {
		return nil, err
	}
	return &recordingClient{Client: wrapped}, nil
}

// withoutTheirs switches controller-runtime's own waits off, which 0.24 does not have.
func withoutTheirs(opts *client.CacheOptions) {
	if f := reflect.ValueOf(opts).Elem().FieldByName("EnableReadYourWritesConsistency"); f.IsValid() {
		f.SetZero()
	}
}
