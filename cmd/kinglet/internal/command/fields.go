package command

import (
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/fieldreads"
)

func newFields(streams Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "fields PACKAGE…",
		Short: "Print which fields of Kubernetes objects Go packages read or set",
		Long: `Print the fields that Go packages read or set, by kind of object, as the option
Keep of an informer's source takes them, without those that every informer keeps,
such as labels. Of a field that is set and not kept, a merge patch cannot remove
what the server has; one that is only set in new objects need not be kept.

A field counts as read of every kind that leads to it. An object that is passed
to other packages, or becomes an interface, may be read there: such places are
listed for you to look at. Test files are not looked at, nor are files that build
constraints exclude; set GOFLAGS=-tags=… or GOOS to include them.`,
		Example: "  kinglet fields ./...",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || slices.Contains(args, "") {
				return usageError{errors.New("name packages: kinglet fields ./... looks at all of a module")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			found, err := fieldreads.Of(cmd.Context(), fieldreads.Options{Patterns: args})
			if err != nil {
				return err
			}
			if len(found.Kinds) == 0 {
				fmt.Fprintln(streams.Err, "no field of a Kubernetes object is read or set, beside those that every informer keeps")
			}
			return printFields(streams.Out, found)
		},
	}
}

func printFields(w io.Writer, found *fieldreads.Found) error {
	var b strings.Builder
	for _, file := range found.Excluded {
		fmt.Fprintf(&b, "// not looked at, because of build constraints: %s\n", relative(file))
	}
	for _, at := range found.Unstructured {
		fmt.Fprintf(&b, "// unstructured objects are not followed: %s:%d\n", relative(at.Filename), at.Line)
	}
	places := func(what string, all []fieldreads.Escape) {
		last := "" // a call may have several objects
		for _, e := range all {
			line := fmt.Sprintf("// %s at %s:%d: %s\n", what, relative(e.Position.Filename), e.Position.Line, e.To)
			if line != last {
				b.WriteString(line)
			}
			last = line
		}
	}
	places("an object of any kind is passed on", found.Interfaces)
	for _, k := range found.Kinds {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "// %s.%s\n", k.Package, k.Name)
		places("passed on", k.Escapes)
		b.WriteString("Keep: []string{")
		for _, p := range k.Paths {
			fmt.Fprintf(&b, "\n\t%q,", p)
		}
		if len(k.Paths) > 0 {
			b.WriteByte('\n')
		} else {
			b.WriteString(`"metadata"`)
		}
		b.WriteString("},\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// relative returns a file's name from the working directory, if the file is below it.
func relative(file string) string {
	dir, err := filepath.Abs(".")
	if err != nil {
		return file
	}
	short, err := filepath.Rel(dir, file)
	if err != nil || strings.HasPrefix(short, "..") {
		return path.Base(filepath.ToSlash(file))
	}
	return short
}
