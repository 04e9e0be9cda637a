package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/kinglet-go/kinglet/bench/internal/apart"
	"github.com/kinglet-go/kinglet/bench/internal/pods"
)

// ServeStdio is what a process that apart.Serve starts runs: it serves the pods that
// its input begins by describing, as pods.Options, until the input ends, having said
// where, as an Endpoint.
func ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	var opts pods.Options
	if err := json.NewDecoder(in).Decode(&opts); err != nil {
		return fmt.Errorf("which pods: %w", err)
	}
	c, err := pods.New(opts)
	if err != nil {
		return err
	}
	s, err := NewServer(c)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(out).Encode(s.Endpoint()); err != nil {
		return err
	}
	return s.Serve(apart.UntilInputEnds(ctx))
}
