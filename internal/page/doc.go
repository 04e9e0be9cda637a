// Package page shows a set of informers and controllers as a web page, and as JSON.
//
// The page is made on the server, of [status.Informer] and its like and of nothing
// else, and needs no script: what is unfolded, sorted or filtered is in the address,
// all addresses are relative, and the browser asks for the page again every two
// seconds. So it works under any path, through kubectl port-forward, and in a browser
// of one's own phone.
//
// # Cost
//
// Nothing is kept until the page is looked at: the template is parsed at the first request.
// A program that never calls [New] does not link the code that executes templates;
// importing html/template costs it 140 KB, and 0.05 ms at startup. From the first look
// until ten minutes after the last one, a timer reads every status once in 5 s, for the
// charts; between two looks there is no goroutine. A look reads statuses, and the details
// of unfolded informers, from snapshots: no writer waits for it.
package page
