package consistency

// sweep is where the next check continues; zero for the start of the collection.
type sweep struct {
	// token is the server's continue token.
	token string
	// after is the last key of the previous page.
	after cursor
	epoch uint64
	// retries counts how often the page was too old to determine missing objects.
	retries int
}

// maxRetries is how often a page that is too old is asked for again. By then
// servers have long forgotten old versions.
const maxRetries = 20

// next returns the sweep after a page that was compared; token is the server's token
// for the next page, empty after the last. A page with pending differences is
// requested again.
func (s sweep) next(pending bool, last cursor, token string) sweep {
	switch {
	case pending && s.retries < maxRetries:
		s.retries++
		return s
	case token == "":
		return sweep{}
	}
	return sweep{token: token, after: last, epoch: s.epoch}
}
