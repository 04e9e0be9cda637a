package interop

import (
	"context"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/source"
)

type (
	mappedValue struct {
		Name string
		Data []string
	}
	mappedPrivate struct{ Name, data string }
	mappedAmount  struct {
		name string
		data corev1.ResourceList
	}
	mappedMeta struct {
		metav1.ObjectMeta
		data string
	}
	mappedInner struct {
		mappedValue
		inner mappedPrivate
	}
)

// TestWhateverAMapMakesIsFollowed makes values of many shapes of ConfigMaps, most of which
// have no version, and whose data is not exported in some. It lets a list come instead of
// the events, and reads own writes back.
func TestWhateverAMapMakesIsFollowed(t *testing.T) {
	follows(t, "a value", func(name, data string) mappedValue { return mappedValue{name, []string{data}} },
		func(v mappedValue) (string, string) { return v.Name, v.Data[0] })
	follows(t, "a map", func(name, data string) map[string]string { return map[string]string{name: data} },
		func(v map[string]string) (string, string) {
			for name, data := range v {
				return name, data
			}
			return "", ""
		})
	follows(t, "an array", func(name, data string) [2]string { return [2]string{name, data} },
		func(v [2]string) (string, string) { return v[0], v[1] })
	follows(t, "in an interface", func(name, data string) any { return mappedValue{name, []string{data}} },
		func(v any) (string, string) { return v.(mappedValue).Name, v.(mappedValue).Data[0] })
	follows(t, "a function", func(name, data string) *func() (string, string) {
		f := func() (string, string) { return name, data }
		return &f
	}, func(v *func() (string, string)) (string, string) { return (*v)() })
	follows(t, "not exported", func(name, data string) *mappedPrivate { return &mappedPrivate{name, data} },
		func(v *mappedPrivate) (string, string) { return v.Name, v.data })
	follows(t, "an amount", func(name, data string) *mappedAmount {
		return &mappedAmount{name, corev1.ResourceList{"cpu": resource.MustParse(data)}}
	}, func(v *mappedAmount) (string, string) { cpu := v.data["cpu"]; return v.name, cpu.String() })
	follows(t, "metadata without a version", func(name, data string) *mappedMeta {
		return &mappedMeta{metav1.ObjectMeta{Namespace: "ns", Name: name}, data}
	}, func(v *mappedMeta) (string, string) { return v.Name, v.data })
	follows(t, "embedded", func(name, data string) *mappedInner {
		return &mappedInner{mappedValue{Name: name}, mappedPrivate{data: data}}
	}, func(v *mappedInner) (string, string) { return v.Name, v.inner.data })
}

func follows[T any](t *testing.T, shape string, to func(name, data string) T, of func(T) (name, data string)) {
	t.Run(shape, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			storage := apiserver.NewStorage(apiserver.ConfigMaps)
			for _, name := range []string{"a", "b", "c"} {
				must(storage.Create(configMap(name, "1")))
			}
			server := apiserver.New(storage, apiserver.Options{})
			t.Cleanup(server.Close)
			src := must(source.FromConfig[*corev1.ConfigMap](server.Config(), configMapGVR, source.Options{}))
			inf := must(kinglet.New(source.Map(src, func(c *corev1.ConfigMap) (T, error) { return to(c.Name, c.Data["data"]), nil }),
				kinglet.Options[T]{KeyFunc: func(v T) (kinglet.Key, error) {
					name, _ := of(v)
					return mapKey(name), nil
				}}))
			told := map[string]string{}
			must(inf.AddHandler(kinglet.HandlerFunc[T](func(_ context.Context, changes []kinglet.Change[T]) {
				for _, c := range changes {
					if c.Type == kinglet.Deleted {
						delete(told, c.Key.Name)
					} else {
						_, told[c.Key.Name] = of(c.New)
					}
				}
			}), kinglet.HandlerOptions{}))
			var own kinglet.OwnWrites
			cfg := server.Config()
			cfg.Wrap(own.Wrap)
			client := kubernetes.NewForConfigOrDie(cfg).CoreV1().ConfigMaps("ns")
			if err := own.Add(configMapGVR, inf); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() { ended <- inf.Run(ctx) }()
			synctest.Wait()

			server.Hold()
			must(client.Update(ctx, configMap("b", "7"), metav1.UpdateOptions{}))
			if v, ok := inf.Store().Get(mapKey("b")); !ok {
				t.Error("an own write is not there")
			} else if _, data := of(v); data != "7" {
				t.Errorf("an own write of 7 is read as %s", data)
			}
			must(storage.Update(configMap("c", "3")))
			if err := client.Delete(ctx, "a", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			storage.Skip(10)
			storage.Compact(storage.Revision())
			server.Disconnect()
			server.Release()
			testbubble.Pass(10 * time.Minute)
			synctest.Wait()

			held, want := map[string]string{}, map[string]string{"b": "7", "c": "3"}
			for v := range inf.Store().All() {
				name, data := of(v)
				held[name] = data
			}
			if !maps.Equal(held, want) || !maps.Equal(told, want) {
				t.Errorf("the store has %v, the handler %v; want %v", held, told, want)
			}
			cancel()
			<-ended
		})
	})
}
