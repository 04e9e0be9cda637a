package source

import (
	"errors"
	"time"

	"github.com/kinglet-go/kinglet/internal/wire/formats"
	"github.com/kinglet-go/kinglet/source/internal/encoding"
)

// Path is a way in which objects are read.
type Path uint8

const (
	// PathUnknown: nothing was read yet, or the source does not say how.
	PathUnknown Path = iota
	// PathProtobuf and PathJSON: the source reads the server's bytes.
	PathProtobuf
	PathJSON
	// PathClient: a client decodes the objects, and the source is given them.
	PathClient
	// PathMemory: there are no bytes, as in a sourcetest.Static.
	PathMemory
)

// String describes the path for people.
func (p Path) String() string {
	if int(p) < len(paths) {
		return paths[p]
	}
	return paths[PathUnknown]
}

var paths = [...]string{"unknown", "wire, protobuf", "wire, JSON", "the client's decoder", "memory"}

// ReadPath says how objects are read, and why not faster.
type ReadPath struct {
	Path Path
	// Why is nil where the wire is read by kinglet's own decoder, which costs a
	// fraction of any other way, from any encoding that the objects have. Otherwise it
	// is the reason why not: an *InterceptError, ErrNoInterceptor,
	// ErrSharingDisabled, ErrInheritedUnmarshal, or a type that decodes itself.
	Why error
	// Since is when this path began. A source leaves it zero; its caller, which
	// knows the previous path, sets it.
	Since time.Time
}

// Reasons of a ReadPath that a program has chosen.
var (
	// ErrNoInterceptor: Options.Intercept is not set, so that the objects are those of
	// the client.
	ErrNoInterceptor = errors.New("the source was given no Interceptor")
	// ErrSharingDisabled: Options.DisableSharing asks for apimachinery's
	// decoders.
	ErrSharingDisabled = errors.New("DisableSharing is set")
	// ErrInheritedUnmarshal: the objects' type has the Unmarshal of a type that it
	// embeds, which reads only that part from protobuf. So kinglet's own decoder reads
	// JSON.
	ErrInheritedUnmarshal = errors.New("the type has the Unmarshal of a type that it embeds, so it is read from JSON alone")
)

// Lost reports that the source was made to read the wire with kinglet's own
// decoder, and does not.
func (p ReadPath) Lost() bool {
	return p.Why != nil && !errors.Is(p.Why, ErrNoInterceptor) && !errors.Is(p.Why, ErrSharingDisabled) &&
		!errors.Is(p.Why, ErrInheritedUnmarshal)
}

// Same reports whether both have the same Path and reason. It ignores Since.
func (p ReadPath) Same(as ReadPath) bool {
	if p.Path != as.Path || (p.Why == nil) != (as.Why == nil) {
		return false
	}
	return p.Why == nil || p.Why.Error() == as.Why.Error()
}

// tell calls onPath, which may be nil.
func tell(onPath func(ReadPath), path Path, why error) {
	if onPath != nil {
		onPath(ReadPath{Path: path, Why: why})
	}
}

// pathOf is the path of responses in an encoding.
func pathOf(enc encoding.Encoding) Path {
	switch enc.Format() {
	case formats.JSON:
		return PathJSON
	case formats.Protobuf:
		return PathProtobuf
	}
	return PathUnknown
}
