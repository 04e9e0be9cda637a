package apiserver

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// body is the body of an answer, with its fault.
type body struct {
	ctx    context.Context
	server *Server
	w      io.Writer
	fault  *Fault
	left   int64 // bytes until the connection breaks off or stands still
	rc     *http.ResponseController
}

func (s *Server) body(ctx context.Context, w http.ResponseWriter, f *Fault) *body {
	b := &body{ctx: ctx, server: s, w: w, fault: f, rc: http.NewResponseController(w)}
	switch {
	case f.CutAfter != 0:
		b.left = max(f.CutAfter, 0)
	case f.StallAfter != 0:
		b.left = max(f.StallAfter, 0)
	}
	return b
}

var (
	errCut     = errors.New("broken off, as was asked for")
	errStalled = errors.New("stood still until the other side left, as was asked for")
)

// Write implements io.Writer.
func (b *body) Write(p []byte) (n int, err error) {
	limited := b.fault.CutAfter != 0 || b.fault.StallAfter != 0
	for len(p) > 0 {
		piece := p
		if limited && int64(len(piece)) > b.left {
			piece = piece[:b.left]
		}
		if b.fault.Trickle > 0 && len(piece) > b.fault.Trickle {
			piece = piece[:b.fault.Trickle]
		}
		m, err := b.w.Write(piece)
		n += m
		if err != nil {
			return n, err
		}
		p = p[m:]
		b.left -= int64(m)
		if limited && b.left <= 0 && len(p) > 0 || limited && len(piece) == 0 {
			return n, b.breakOff()
		}
		if b.fault.Trickle > 0 {
			if err := b.pause(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// pause flushes, and waits until the next piece is due.
func (b *body) pause() error {
	if err := b.rc.Flush(); err != nil {
		return err
	}
	t := time.NewTimer(b.fault.TrickleEvery)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-b.ctx.Done():
		return b.ctx.Err()
	}
}

// breakOff ends a body as its fault says.
func (b *body) breakOff() error {
	if err := b.rc.Flush(); err != nil {
		return err
	}
	if b.fault.CutAfter != 0 {
		b.server.conns.cut(b.ctx)
		return errCut
	}
	<-b.ctx.Done()
	return errStalled
}

// flush sends what has been written.
func (b *body) flush() error {
	if b.fault.CutAfter < 0 || b.fault.StallAfter < 0 {
		return b.breakOff()
	}
	return b.rc.Flush()
}
