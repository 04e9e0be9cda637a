package consistency

import (
	"errors"
	"fmt"
	"time"
)

// Options is kinglet.ConsistencyCheck. With the zero value, checks run only on demand.
type Options struct {
	// Every is the time between two checks. Each waits for between 1 and 1.5 times
	// that, so that the checks of many clients do not coincide. 0 is never. With a
	// page of 500 every ten minutes, 50,000 objects are checked in about 20 hours.
	Every time.Duration
	// Limit is how many objects a check asks for; 500 if 0.
	Limit int64
	// IdentityOnly compares keys, UIDs and resource versions, and no content.
	IdentityOnly bool
	// ReportOnly prevents a relist when differences are found.
	ReportOnly bool
}

const (
	// defaultLimit is how many objects a page of a list has by default.
	defaultLimit = 500
	// requestTimeout bounds each request of a check.
	requestTimeout = time.Minute
	// maxFound is how many differences a report lists.
	maxFound = 16
)

// Validate returns everything that is wrong with o.
func (o Options) Validate() error {
	var errs []error
	if o.Every < 0 {
		errs = append(errs, fmt.Errorf("ConsistencyCheck.Every is %v, must not be negative", o.Every))
	}
	if o.Limit < 0 {
		errs = append(errs, fmt.Errorf("ConsistencyCheck.Limit is %d, must not be negative", o.Limit))
	}
	return errors.Join(errs...)
}

// Report is what a check compared and found.
type Report struct {
	// Scope is the ID of the scope of the page's source, if the informer has several
	// sources.
	Scope string
	// ResourceVersion is that of the store's snapshot.
	ResourceVersion string
	// Compared counts objects of the server; Skipped counts those that could not be
	// compared: they changed meanwhile, are quarantined, or do not decode.
	Compared, Skipped int
	// Complete is true if the page was the last of the collection; the next check
	// begins from its start. With several sources, it is true for the last page of the
	// last source if all others could be checked before it.
	Complete bool
	// Found are the first 16 differences; Differences is how many there are.
	Found       []Inconsistency
	Differences int
	// Relisting is true if everything is listed again because of them.
	Relisting bool
	// Bytes is how many bytes were read, 0 if the source cannot know; Took is how
	// long the check took.
	Bytes int64
	Took  time.Duration
}

// Status has counts over all checks.
type Status struct {
	// Checks counts checks; NotChecked counts those that could compare nothing, and
	// Sweeps those that reached the end of the collection.
	Checks, NotChecked, Sweeps uint64
	// Compared and Skipped count objects; see Report.
	Compared, Skipped uint64
	// Differences counts differences, and Relists the relists because of them.
	// LastDifference is when the last difference was found.
	Differences, Relists uint64
	LastDifference       time.Time
	// Last is when the last check ended. LastNotChecked is the error of the last check
	// that could compare nothing.
	Last           time.Time
	LastNotChecked error
}

func (s *Status) count(r *Report, err error) {
	s.Checks++
	s.Last = time.Now()
	s.Compared += uint64(r.Compared)
	s.Skipped += uint64(r.Skipped)
	if r.Differences > 0 {
		s.LastDifference = s.Last
	}
	s.Differences += uint64(r.Differences)
	if r.Complete {
		s.Sweeps++
	}
	if r.Relisting {
		s.Relists++
	}
	if err != nil {
		s.NotChecked++
		s.LastNotChecked = err
	}
}
