// Package browser has no code but tests: the page of a Set in a real browser.
//
// They need Chromium (Debian's package chromium; .ci/run installs it), and leave
// themselves out where there is none, which the last line of make test says. With
// -screenshots they write pictures of the page into a folder: make screenshots.
package browser
