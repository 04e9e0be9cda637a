package ctrlruntime

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinglet-go/kinglet/ctrlruntime"
)

// counting is a patch that has another content each time.
type counting struct{ calls int }

func (*counting) Type() types.PatchType { return types.MergePatchType }

func (p *counting) Data(client.Object) ([]byte, error) {
	p.calls++
	return fmt.Appendf(nil, `{"metadata":{"labels":{"n":"%d"}}}`, p.calls), nil
}

// The server names the manager of fields after the program.
func TestAClientsRequestsAreThoseOfControllerRuntimes(t *testing.T) {
	var requests []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		requests = append(requests, fmt.Sprintf("%s %s of %s: %s", req.Method, req.URL, req.UserAgent(), body))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"ns","name":"a","uid":"u","resourceVersion":"1"}}`)
	}))
	defer server.Close()
	for _, agent := range []string{"", "a program"} {
		var of [2][]string
		for i := range of {
			cfg := &rest.Config{Host: server.URL, UserAgent: agent}
			c, err := ctrlruntime.NewCache(cfg, cache.Options{Mapper: mapper()})
			ok(t, err)
			cl, err := []client.NewClientFunc{client.New, ctrlruntime.NewClient}[i](cfg, client.Options{Mapper: mapper(), Cache: &client.CacheOptions{Reader: c}})
			ok(t, err)
			obj := &corev1.ConfigMap{}
			obj.Namespace, obj.Name = "ns", "a"
			ok(t, cl.Create(t.Context(), obj.DeepCopy()))
			ok(t, cl.Patch(t.Context(), obj.DeepCopy(), &counting{}))
			ok(t, cl.Status().Patch(t.Context(), obj.DeepCopy(), &counting{}))
			ok(t, cl.Delete(t.Context(), obj))
			of[i], requests = requests, nil
		}
		if !slices.Equal(of[0], of[1]) {
			t.Errorf("kinglet's client sends\n%q\nand controller-runtime's\n%q", of[1], of[0])
		}
	}
}
