// Package page shows a set of informers and controllers as a web page, and as JSON.
//
// The page is made on the server, only from [status.Informer] and similar types, and
// needs no script: what is unfolded, sorted or filtered is in the address, all addresses
// are relative, and the browser reloads the page every two seconds. So it works under
// any path, through kubectl port-forward, and in the browser of a phone.
//
// # Cost
//
// Nothing is kept before the first request, which parses the template. A program that
// never calls [New] does not link the code that executes templates; importing
// html/template costs it 140 KB, and 0.05 ms at startup. From the first request until ten
// minutes after the last one, a timer reads every status once in 5 s, for the charts;
// between two requests there is no goroutine. A request reads statuses, and the details
// of unfolded informers, from snapshots: no writer waits for it.
package page
