package source

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

type (
	partOfASecret struct{ corev1.Secret }
	noPart        struct{ corev1.ConfigMap }
	holder[T any] []T
)

// Over closures a type has only its name to say what it is of.
func TestATypeWhoseNameSaysSecretMayBeOne(t *testing.T) {
	for want, all := range map[bool][]expected{
		true: {
			must(expect[*corev1.Secret](nil)), must(expect[corev1.Secret](nil)), must(expect[*partOfASecret](nil)),
			must(expect[holder[*corev1.Secret]](nil)), must(expect[runtime.Object](nil)),
		},
		false: {must(expect[*corev1.ConfigMap](nil)), must(expect[*noPart](nil))},
	} {
		for _, e := range all {
			if got := e.mayBe(""); got != want {
				t.Errorf("%v may be a Secret: %v", e.typ, got)
			}
		}
	}
}

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
