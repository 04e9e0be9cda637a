package source

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// Errors go to logs, and who reads logs may not be allowed to read Secrets.
func TestNoErrorQuotesWhatIsInAnObject(t *testing.T) {
	const secret = "hunter2"
	lists := []string{
		`{"items":"hunter2"}`,
		`{"items":["hunter2"]}`,
		`{"items":[]}hunter2`,
		`{"items":[{"metadata":{"name":"a"},"data":"hunter2"}]}`,
		`{"items":[{"metadata":{"name":"a"},"data":{"k":"hunter2"}}]}`,
		`{"items":[{"metadata":{"name":"a"},"data":{"k":["hunter2"]}}]}`,
		`{"items":[{"metadata":{"name":"a","labels":"hunter2"}}]}`,
		`{"items":[{"metadata":{"name":"a"},"stringData":{"k":"hunter2"}"hunter2"}]}`,
		`{["hunter2"]:1}`,
	}
	watches := []string{
		`{"type":"ADDED","object":"hunter2"}`,
		`{"type":"ERROR","object":"hunter2"}`,
		`{"type":"BOOKMARK","object":"hunter2"}`,
		`{"type":"ERROR","object":{"kind":"Secret","apiVersion":"v1","data":{"k":"hunter2"}}}`,
		`{"type":"ADDED","object":{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a"},"data":{"k":"hunter2"}}}`,
		`{"type":"ADDED","object":{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a"},"data":"hunter2"}}`,
		`{"type":"ADDED"}` + "\n" + `"hunter2"`,
	}
	for _, disable := range []bool{false, true} {
		dec := must(decoderOf[*corev1.Secret](podGVR.GroupVersion(), Options{DisableSharing: disable}))
		check := func(what string, errs ...error) {
			wrong := false
			for _, err := range errs {
				if err == nil {
					continue
				}
				wrong = true
				if strings.Contains(err.Error(), secret) {
					t.Errorf("%s: %v", what, err)
				}
			}
			if !wrong {
				t.Errorf("%s: no error", what)
			}
		}
		for _, body := range lists {
			var got listed[*corev1.Secret]
			errs := []error{dec.list(false, strings.NewReader(body), nil, nil, got.page)}
			for i := range got.items {
				errs = append(errs, got.items[i].Err)
			}
			check(body, errs...)
		}
		for _, stream := range watches {
			var got watched[*corev1.Secret]
			errs := []error{dec.watch(strings.NewReader(stream), nil, nil, got.batch)}
			for i := range got.events {
				errs = append(errs, got.events[i].Err)
			}
			check(stream, errs...)
		}
	}
}
