package main

import (
	"os"
	"path/filepath"
	"runtime/pprof"
)

// profiles of one process, if they are wanted: where dir is not empty.
type profiles struct{ dir, name string }

// cpu begins one, which stop ends.
func (p *profiles) cpu(phase string) (stop func() error, err error) {
	if p.dir == "" {
		return func() error { return nil }, nil
	}
	f, err := p.create(phase, "cpu")
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		f.Close()
		return nil, err
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}

// heap writes one of what has lived since the last collection.
func (p *profiles) heap(phase string) error {
	if p.dir == "" {
		return nil
	}
	f, err := p.create(phase, "heap")
	if err != nil {
		return err
	}
	err = pprof.Lookup("heap").WriteTo(f, 0)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

func (p *profiles) create(phase, kind string) (*os.File, error) {
	return os.Create(filepath.Join(p.dir, p.name+"-"+phase+"-"+kind+".prof"))
}
