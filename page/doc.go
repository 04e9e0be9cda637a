// Package page shows a set of informers and controllers as a web page, and as JSON.
//
// The page is made on the server, only from [status.Informer] and similar types, and
// needs no script: what is unfolded, sorted or filtered is in the address, all addresses
// are relative, and the browser reloads the page every two seconds. So it works under
// any path, through kubectl port-forward, and in the browser of a phone.
//
// It costs nothing until it is requested, and keeps nothing between two requests. A
// request reads statuses, and the details of unfolded informers, from snapshots: no writer
// waits for it. It is a package of its own so that programs without the page do not link
// html/template.
package page
