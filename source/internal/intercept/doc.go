// Package intercept hands the responses of a client's requests to a source.
//
// A Call is one List or Watch call of a source. It travels to the client's
// transport in the context of the request. There Transport recognises it, asks
// the server for what the source reads best, gives the source the response, and
// the client an empty one, which ends when the source is done. See Interceptor in
// package source for the purpose.
//
// Two goroutines use a Call: the source's, and the client's in RoundTrip. Its
// lock is never held during anything that blocks.
package intercept
