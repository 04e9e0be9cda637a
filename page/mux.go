package page

import (
	"net/http"

	"github.com/kinglet-go/kinglet"
)

// Mux returns one handler for the HTTP port of a program, to which it may add more:
//
//   - /healthz answers 200 as long as the program serves, for a liveness probe.
//   - /readyz answers 200 once every informer has synced, and else 503 with what is wrong
//     and what to do: see [kinglet.Set.Ready].
//   - /metrics is metrics, unless it is nil: promhttp's handler of a registry with a
//     Collector of module prometheus.
//   - /debug/kinglet/ is the page, for loopback connections alone, as those of kubectl
//     port-forward: probes and metrics need a port that others reach, and the page shows
//     names of objects. To serve it elsewhere, see Handler.
//
// It is safe for concurrent use, before, during and after Run.
func Mux(set *kinglet.Set, metrics http.Handler) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, "ok") })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := set.Ready(r); err != nil {
			writeText(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		writeText(w, http.StatusOK, "ok")
	})
	if metrics != nil {
		mux.Handle("/metrics", metrics)
	}
	page := Handler(set)
	mux.HandleFunc("/debug/kinglet/", func(w http.ResponseWriter, r *http.Request) {
		if !loopback(r) {
			http.Error(w, "the page is served on this machine's loopback address only: use kubectl port-forward", http.StatusForbidden)
			return
		}
		page.ServeHTTP(w, r)
	})
	return mux
}

func writeText(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text + "\n")) // an error means that the client has gone
}
