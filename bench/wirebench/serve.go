package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/kinglet-go/kinglet/bench/internal/apart"
	"github.com/kinglet-go/kinglet/bench/internal/pods"
	"github.com/kinglet-go/kinglet/bench/internal/replay"
)

// serveStdio serves the pods that its input begins by describing until its
// input ends, having said where.
func serveStdio(ctx context.Context) error {
	in := json.NewDecoder(os.Stdin)
	var opts pods.Options
	if err := in.Decode(&opts); err != nil {
		return fmt.Errorf("which pods: %w", err)
	}
	c, err := pods.New(opts)
	if err != nil {
		return err
	}
	s, err := replay.NewServer(c)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(s.Endpoint()); err != nil {
		return err
	}
	return s.Serve(apart.UntilInputEnds(ctx))
}
