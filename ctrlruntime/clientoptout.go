package ctrlruntime

import (
	"context"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinglet-go/kinglet"
)

// recordingClient is a client whose writes are recorded, unless their options say
// otherwise, and which writes back no object that is not whole. Methods without a comment
// are those of client.Client.
type recordingClient struct{ client.Client }

// optedOut reports whether options, of any kind, have
// DisableReadYourWritesConsistency, which controller-runtime 0.24 does not.
func optedOut(options any) bool {
	f := reflect.ValueOf(options).Elem().FieldByName("DisableReadYourWritesConsistency")
	return f.IsValid() && f.Bool()
}

// recorded returns the context of a write with options.
func recorded(ctx context.Context, options any) context.Context {
	if optedOut(options) {
		return kinglet.WithoutOwnWrites(ctx)
	}
	return ctx
}

func (c *recordingClient) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	if err := c.refuse("create", obj); err != nil {
		return err
	}
	return c.Client.Create(recorded(ctx, (&client.CreateOptions{}).ApplyOptions(opts)), obj, opts...)
}

func (c *recordingClient) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	if err := c.refuse("update", obj); err != nil {
		return err
	}
	return c.Client.Update(recorded(ctx, (&client.UpdateOptions{}).ApplyOptions(opts)), obj, opts...)
}

func (c *recordingClient) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	return c.patched(obj, patch, nil, func(patch client.Patch) error {
		return c.Client.Patch(recorded(ctx, (&client.PatchOptions{}).ApplyOptions(opts)), obj, patch, opts...)
	})
}

func (c *recordingClient) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	return c.applied(obj, func() error {
		return c.Client.Apply(recorded(ctx, (&client.ApplyOptions{}).ApplyOptions(opts)), obj, opts...)
	})
}

func (c *recordingClient) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	return c.Client.Delete(recorded(ctx, (&client.DeleteOptions{}).ApplyOptions(opts)), obj, opts...)
}

func (c *recordingClient) DeleteAllOf(ctx context.Context, obj client.Object, opts ...client.DeleteAllOfOption) error {
	return c.Client.DeleteAllOf(recorded(ctx, &(&client.DeleteAllOfOptions{}).ApplyOptions(opts).DeleteOptions), obj, opts...)
}

func (c *recordingClient) Status() client.SubResourceWriter {
	return recordingWriter{c.Client.Status(), c}
}

func (c *recordingClient) SubResource(name string) client.SubResourceClient {
	of := c.Client.SubResource(name)
	return struct {
		client.SubResourceReader
		client.SubResourceWriter
	}{of, recordingWriter{of, c}}
}

// recordingWriter is recordingClient for a subresource.
type recordingWriter struct {
	client.SubResourceWriter
	of *recordingClient
}

func (w recordingWriter) Create(ctx context.Context, obj, sub client.Object, opts ...client.SubResourceCreateOption) error {
	return w.SubResourceWriter.Create(recorded(ctx, (&client.SubResourceCreateOptions{}).ApplyOptions(opts)), obj, sub, opts...)
}

func (w recordingWriter) Update(ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption) error {
	all := (&client.SubResourceUpdateOptions{}).ApplyOptions(opts)
	sent := obj
	if all.SubResourceBody != nil {
		sent = all.SubResourceBody
	}
	if err := w.of.refuse("update", sent); err != nil {
		return err
	}
	return w.SubResourceWriter.Update(recorded(ctx, all), obj, opts...)
}

func (w recordingWriter) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	all := (&client.SubResourcePatchOptions{}).ApplyOptions(opts)
	return w.of.patched(obj, patch, all.SubResourceBody, func(patch client.Patch) error {
		return w.SubResourceWriter.Patch(recorded(ctx, all), obj, patch, opts...)
	})
}

func (w recordingWriter) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
	return w.of.applied(obj, func() error {
		return w.SubResourceWriter.Apply(recorded(ctx, (&client.SubResourceApplyOptions{}).ApplyOpts(opts)), obj, opts...)
	})
}
