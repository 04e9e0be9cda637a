package mutant

// The mutations of the work queue (internal/keyqueue). Its trials, which compare it
// with a naive model, have to notice them.
const (
	// LoseAdd forgets a key that is added while it runs.
	LoseAdd Mutation = firstQueue + iota
	// LaterWins uses the later of two delays.
	LaterWins
	// LoseDue forgets every ninth key that is due.
	LoseDue
	// NoHeadStart serves keys in the order in which they were added.
	NoHeadStart
	// OutOfLine leaves a queued key in its place although it was added with a head start.
	OutOfLine
	// KeepFailure counts failures from before a success.
	KeepFailure
	// RetryTerminal retries a key whose error is terminal.
	RetryTerminal
	// KeepCancelled keeps a delay that was cancelled.
	KeepCancelled
	endQueue
)

const firstQueue Mutation = 4000

// Queue are the mutations of the work queue.
func Queue() []Mutation { return between(firstQueue, endQueue) }

func (m Mutation) queueName() string {
	return [endQueue - firstQueue]string{
		"lose add", "later wins", "lose due", "no head start", "out of line", "keep failure",
		"retry terminal", "keep cancelled",
	}[m-firstQueue]
}
