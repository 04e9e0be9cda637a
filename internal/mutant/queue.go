package mutant

// The mutations of the work queue (internal/keyqueue). Its trials, which compare it
// with a naive model and check the shares of classes and retries, have to notice them.
const (
	// LoseAdd forgets a key that is added while it runs.
	LoseAdd Mutation = firstQueue + iota
	// LaterWins uses the later of two delays.
	LaterWins
	// LoseDue forgets every ninth key that is due.
	LoseDue
	// NoHeadStart serves keys in the order in which they were added.
	NoHeadStart
	// StaleHead gives a run the head start of a delay that has ended.
	StaleHead
	// OutOfLine puts a key at the end of the line although it belongs before it.
	OutOfLine
	// KeepFailure counts failures from before a success.
	KeepFailure
	// RetryTerminal retries a key whose error is terminal.
	RetryTerminal
	// KeepCancelled keeps a delay that was cancelled.
	KeepCancelled
	// ClassesByTurn serves classes in turn, whatever their runs cost.
	ClassesByTurn
	// HoldWorkers lets a class have all workers while others wait.
	HoldWorkers
	// NewestOnly deals all tokens to keys that failed for the first time.
	NewestOnly
	// OldestOnly deals all tokens in order.
	OldestOnly
	endQueue
)

const firstQueue Mutation = 4000

// Queue are the mutations of the work queue.
func Queue() []Mutation { return between(firstQueue, endQueue) }

func (m Mutation) queueName() string {
	return [endQueue - firstQueue]string{
		"lose add", "later wins", "lose due", "no head start", "stale head", "out of line", "keep failure",
		"retry terminal", "keep cancelled", "classes by turn", "hold workers", "newest only", "oldest only",
	}[m-firstQueue]
}
