package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/kinglet-go/kinglet/test/internal/history"
)

// lookAgain is how long a checkpoint waits before it compares again.
const lookAgain = 250 * time.Millisecond

// checkpoint returns once every resident equals the server, and its handlers equal it; or,
// after patience, an error that describes the differences. No ConfigMaps are written
// meanwhile.
func (s *soak) checkpoint(ctx context.Context) error {
	began := time.Now()
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	waiting, last := s.members, ""
	for {
		truths, err := s.truths(patient)
		var differ []string
		if err == nil {
			if waiting, differ, err = s.compare(waiting, truths); err != nil {
				return err
			}
			if len(waiting) == 0 {
				return s.passed(began, last, truths)
			}
			last = waiting[len(waiting)-1].name
		}
		pause(patient, lookAgain)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case patient.Err() != nil && err != nil:
			return fmt.Errorf("the server does not answer: %w", err)
		case patient.Err() != nil:
			return fmt.Errorf("guarantee 1: %v after the end of trouble, %d of %d informers are not equal to the server:\n%s",
				patience, len(waiting), len(s.members), strings.Join(differ, "\n"))
		}
	}
}

// truths lists the collections with which residents are compared.
func (s *soak) truths(ctx context.Context) (map[*collection]history.Objects, error) {
	out := map[*collection]history.Objects{}
	for _, r := range s.members {
		if out[r.of] != nil {
			continue
		}
		truth, err := r.of.truth(ctx)
		if err != nil {
			return nil, err
		}
		out[r.of] = truth
	}
	return out, nil
}

// compare returns the residents that differ from the truth, and how. An error is one that
// waiting does not mend.
func (s *soak) compare(waiting []*resident, truths map[*collection]history.Objects) (unequal []*resident, differ []string, err error) {
	for _, r := range waiting {
		held := r.held()
		d := differences(truths[r.of], held)
		for _, l := range r.histories {
			behind, wrong := l.Compare(held)
			d = append(d, behind...)
			if len(wrong) > 0 {
				err = errors.Join(err, fmt.Errorf("guarantee 4: %s", strings.Join(wrong, "; ")))
			}
		}
		st := r.run.Status()
		// The soak has no bad objects: whatever is refused is a defect, though a list may mend it.
		if st.Degraded || st.Quarantined > 0 {
			err = errors.Join(err, fmt.Errorf("guarantee 7: %s has %d objects in quarantine (degraded: %v): %v", r.name, st.Quarantined, st.Degraded, r.suspect()))
		}
		if len(d) > 0 {
			unequal = append(unequal, r)
			differ = append(differ, fmt.Sprintf("%s, %s since %s, last error %v: %d differences, %s",
				r.name, st.Phase, st.Since.Format(time.TimeOnly), st.LastError, len(d), strings.Join(d[:min(len(d), 5)], "; ")))
		}
	}
	return unequal, differ, err
}

// differences compares by UID, resource version and content.
func differences(want, got history.Objects) []string {
	var differ []string
	for key, w := range want {
		switch g := got[key]; {
		case g == nil:
			differ = append(differ, fmt.Sprintf("%s (%s) is missing", key, history.Version(w)))
		case history.Version(g) != history.Version(w):
			differ = append(differ, fmt.Sprintf("%s is %s, the server has %s", key, history.Version(g), history.Version(w)))
		case !equality.Semantic.DeepEqual(w, g):
			differ = append(differ, fmt.Sprintf("%s at %s has another content than the server's: %v and %v", key, history.Version(w), g, w))
		}
	}
	for key, g := range got {
		if want[key] == nil {
			differ = append(differ, fmt.Sprintf("%s (%s) is not on the server", key, history.Version(g)))
		}
	}
	return differ
}

// passed records and prints a checkpoint at which everything was equal.
func (s *soak) passed(began time.Time, last string, truths map[*collection]history.Objects) error {
	g, err := read()
	if err != nil {
		return err
	}
	count := 0
	for _, t := range truths {
		count += len(t)
	}
	histories := 0
	tables := map[uint64]uint64{}
	for _, r := range s.members {
		histories += len(r.histories)
		st := r.run.Status()
		tables[st.SharingID] = uint64(st.Sharing.Bytes)
	}
	shared := uint64(0)
	for _, bytes := range tables {
		shared += bytes
	}
	c := checkpoint{took: time.Since(began), last: last, gauge: g, shared: shared}
	s.checkpoints = append(s.checkpoints, c)
	s.printf("checkpoint %d: after %v all %d informers and %d handlers equal the server (%d objects in %d lists); %v, %.1f MB in tables of shared values",
		len(s.checkpoints), c.took.Round(100*time.Millisecond), len(s.members), histories, count, len(truths), g, float64(shared)/1e6)
	return nil
}
