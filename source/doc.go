// Package source is where objects come from. A Source is one collection of
// one kind, with its namespace and selectors fixed, that can be listed page by
// page and watched batch by batch.
//
// # What lives here
//
//   - source.go: Source, Page, Event, Item, Traits: what a reflector asks and gets.
//   - rest.go: FromConfig and FromREST read an API server's bytes themselves.
//   - listerwatcher.go: FromListerWatcher asks whatever has client-go's List and Watch:
//     cache.ListWatch, the closures of generated informers, dynamic and metadata
//     clients, fakes. call.go has its calls; interceptor.go and interception.go read
//     the bytes that these calls ask for.
//   - decoder.go, with list.go and watch.go: a response becomes pages or batches.
//     codec.go and kind.go: an object's bytes become an Item.
//   - selection.go: which fields objects have. listwhole.go: lists of metadata, and of whole
//     objects beside it.
//   - map.go: Map turns objects into others. answer.go: the answers to own writes,
//     coverage.go: whether selectors cover them.
//   - item.go, options.go, errors.go, sharing.go, readpath.go, repeat.go.
//
// # What T is
//
// T is the type that objects are decoded into: a pointer to a struct. It may
// also be an interface (any, for programs that have no types until they run);
// then Options.Example says which type to decode into, and all else is the
// same: an interface holds that pointer, and costs no allocation. An object of
// another type is an item with an error, whichever way it came.
//
// # The seam where bytes become objects
//
// There is one: decoder. Everything before it is HTTP (rest.go: the request, its
// headers and context; interception.go: the same with a client of yours),
// everything behind it is objects. A decoder gets the response body, the Held of
// the request and the caller's yield. Its parts:
//
//   - internal/encoding knows JSON and protobuf: it finds items and events
//     in the body, on the caller's goroutine, and reads their kinds and
//     identities. Its Window is what reads the body, and grows with what arrives,
//     never with what a length announces.
//   - listing and watching collect the found objects into pages and batches.
//   - workers decode these in order, on as many goroutines as there are cores
//     and enough work for.
//   - codec, with one reader for each goroutine, decodes the bytes of one object
//     into an Item, through internal/wire with the held object, or through
//     apimachinery's own decoder.
//
// Below this package as well: internal/intercept works in the client's transport,
// internal/connection has a source's own connections and detects dead peers, and
// sourcetest has a source in memory, for tests.
//
// Nothing holds a whole response body: at most one page or batch, what was read
// ahead of it, and one object. An idle watch keeps a buffer of 1 KiB and no
// goroutine; the other memory of a busy one is left to the garbage collector.
//
// # What is shared, and what that rests on
//
// A decoder looks up the held object under an object's key. If the bytes have not
// changed, it returns the held object. Otherwise it takes the unchanged parts from
// the held object, and parts that other objects have from the Sharing. Hashes of
// the bytes decide all of this: 96 bits, keyed with secrets of this process
// (internal/wire/share has the arithmetic). Nothing else is trusted: not the
// resource version, not the UID, and the answer of Held may be a version old. An object
// that a transform returns has no bytes, and is shared by structure: see Map.
//
// A request without Held is a promise: its objects share no memory with any
// other, so a transform may write to them. Map asks in that way.
//
// # Fallbacks
//
// internal/wire decodes what it is certain of, and leaves the whole object to
// apimachinery's decoder for anything else, errors included; so errors have
// apimachinery's words. A T with a decoder of its own, a T for which no plan can be
// compiled, and DisableSharing without Drop always use apimachinery's decoder. A
// response that cannot be intercepted is left to the closures.
//
// None of this is silent: a request's OnPath is called with how its answer is read,
// and why not faster. A source that wraps another passes OnPath on with the request.
//
// # Who may call what
//
// List and Watch run on the caller's goroutine and call yield from it; a Source serves
// one caller at a time, and exact lists beside it. Only Held, and Unmarshal methods of T
// and of its parts, are called from several goroutines at once. Goroutines are started
// here in two places. Workers live while one batch is decoded, and have ended when it is
// yielded. A ListerWatcher's call has one until it returns, since not every call honours
// a context; an intercepted watch has one more, which waits for the closure's.
//
// A Sharing may be used by any number of sources at once. A source's interception and its
// decoder have a lock each, and call no code of yours while holding it.
//
// # When events are read
//
// Waking up for an event costs more than decoding it. So a stream that is busy reads at
// ticks, Options.MaxDelay apart, and takes whatever has come with one system call. It does
// while so many events come that two or more meet in one delay, counted over all streams of
// the process that have it: they read at the same ticks, so that many streams of few events
// wake the process as seldom as one of many. A stream reads at once after silence, when
// few events come, and when 128 KiB wait. The price is latency: up to MaxDelay, half of it
// on average, and nothing for a stream that is not busy. Lists never wait, nor do streams
// over shared connections.
//
// A stream that waits needs a connection of its own: over HTTP/2 its neighbours would wait
// as well, and each frame is handed from the connection's goroutine to the watch's. A watch
// begins on the connection that its client shares, and once it has had ten events a second
// for five to ten seconds it ends, if the server sends bookmarks and so has a history; the
// next one, from the version that was reached, has its own. Two minutes of silence bring it
// back in the same way. So an idle watch costs what it cost without this, and the pings of
// HTTP/2 tell it from one whose server has gone.
//
// This needs Linux, and FromConfig, FromREST, or closures of a client with
// cfg.Wrap(WrapTransport) or WrapClient, as package cache makes for NewListWatchFromClient.
// The client's transport has to be net/http's, dial TCP, and allow HTTP/1.1; between it and
// ours no wrappers but client-go's may stand. (FromConfig and cfg.Wrap put ours at the
// bottom, below the configuration's.) All other streams share a connection, as do those
// beyond the first hundred that have their own.
//
// An own connection speaks HTTP/1.1 and is made as the client's are: through its Dial
// function and its proxies, with its exec plugin, and it is closed when certificates
// rotate. It serves one watch. If it cannot be had, or brings no event, the shared one serves
// for an hour. It costs two goroutines here, a connection of the server, and some 80 KiB
// on both sides together.
//
// # Dead peers
//
// A dead peer does not close its connection. Over HTTP/2, client-go's transports
// send a ping after 30 s without a byte, and give the connection up 15 s later,
// unless the environment says otherwise (HTTP2_READ_IDLE_TIMEOUT_SECONDS,
// HTTP2_PING_TIMEOUT_SECONDS). FromConfig enables this also for https without TLS
// settings, where client-go uses a transport without pings. A watch's own
// connection has TCP keep-alive, which takes 45 s as well, and is given up after two
// minutes of silence. Over a shared connection of HTTP/1.1 the client's dialer decides:
// client-go's leaves Go's settings, which take 30 + 9*15 = 165 s. Package reflector detects
// a silent stream on a live connection.
//
// # What happens to what is broken
//
// An object that cannot be decoded, is of another type or has no name becomes
// an Item whose Err is an *ItemError with its identity, as far as that can be
// read; the stream goes on. So does one that nests too deep. A stream whose
// framing is broken (*MalformedError, *TooLargeError, io.ErrUnexpectedEOF) ends
// with that error: continuing from the last version loses nothing, while guessing
// where the next object begins might.
package source
