package main

import (
	"errors"
	"fmt"

	"github.com/kinglet-go/kinglet/bench/internal/pods"
	"github.com/kinglet-go/kinglet/bench/internal/replay"
)

// setup is what one process is measured at.
type setup struct {
	Pods      pods.Options
	Encoding  replay.Encoding
	Transport transport
	// SharedConnection leaves kinglet's source with what it has by default:
	// connections out of the process's pool. Otherwise it has one of its own
	// over HTTP/1.1; over HTTP/2 never.
	SharedConnection bool
	Form             form
	Shape            shape
	Handlers         int
	// Lists asks for LIST in place of a watch with initial events, which both
	// engines ask for by default.
	Lists bool
	// Folding leaves kinglet's handlers as they are by default: versions that
	// a handler is too slow for may fold. Otherwise it has to deliver each.
	Folding bool
	// DropIn has package cache in kinglet's place: the program that client-go
	// is measured with, with its import changed. Its connections are the
	// client's, since package cache has no OwnConnection.
	DropIn bool
	// Rounds of MODIFIED events make the burst, each of one version of every
	// key; 0 is no burst.
	Rounds int
	// Gathered has the server send the burst in writes of 64 KiB. As an API
	// server sends it, event by event, an engine that needs less than 15 µs an
	// event waits for each, and most of what it then uses is waking up.
	Gathered bool
	// Relist forces full relists after the burst.
	Relist bool
}

// transport is what carries the bytes.
type transport string

const (
	http1 transport = "HTTP/1.1"
	http2 transport = "TLS+HTTP/2"
)

// form is what objects are decoded into.
type form string

const (
	typed        form = "typed"
	unstructured form = "unstructured"
	metadataOnly form = "metadata only"
)

// shape is what becomes of an object before it is stored.
type shape string

const (
	whole shape = "whole"
	// dropped is without metadata.managedFields.
	dropped shape = "without managedFields"
	// transformed is what the function of the same name leaves.
	transformed shape = "transformed"
)

func (s *setup) check() error {
	var errs []error
	if s.Transport != http1 && s.Transport != http2 {
		errs = append(errs, fmt.Errorf("no transport %q", s.Transport))
	}
	if s.Form != typed && s.Form != unstructured && s.Form != metadataOnly {
		errs = append(errs, fmt.Errorf("no form %q", s.Form))
	}
	if s.Form == unstructured && s.Encoding != replay.JSON {
		errs = append(errs, errors.New("unstructured objects come as JSON"))
	}
	if (s.Form == metadataOnly) != (s.Encoding == replay.Metadata) {
		errs = append(errs, errors.New("metadata only is a form, and an encoding"))
	}
	if s.Form != typed && s.Shape != whole {
		errs = append(errs, errors.New("what is not typed stays whole"))
	}
	if s.DropIn && (s.Lists || s.Folding || s.SharedConnection || s.Shape != whole || s.Form == metadataOnly) {
		errs = append(errs, errors.New("the drop-in has no options of kinglet's"))
	}
	if s.Handlers < 1 {
		errs = append(errs, errors.New("at least one handler is needed"))
	}
	if s.Rounds == 1 {
		errs = append(errs, errors.New("a burst holds at least two versions of every key"))
	}
	return errors.Join(errs...)
}

// lastRound is the last one of which whole encodings are wanted.
func (s *setup) lastRound() int {
	if s.Relist {
		return s.Rounds + 1
	}
	return s.Rounds
}
