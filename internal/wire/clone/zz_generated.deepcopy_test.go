package clone

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func (in *custom) DeepCopyInto(out *custom) {
	*out = *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	in.Nested.DeepCopyInto(&out.Nested)
	if in.Pointer != nil {
		out.Pointer = new(nested)
		in.Pointer.DeepCopyInto(out.Pointer)
	}
	if in.List != nil {
		out.List = make([]nested, len(in.List))
		for i := range in.List {
			in.List[i].DeepCopyInto(&out.List[i])
		}
	}
	if in.Lists != nil {
		out.Lists = make([][]string, len(in.Lists))
		for i := range in.Lists {
			out.Lists[i] = slices.Clone(in.Lists[i])
		}
	}
	if in.Map != nil {
		out.Map = make(map[string]nested, len(in.Map))
		for k, v := range in.Map {
			var own nested
			v.DeepCopyInto(&own)
			out.Map[k] = own
		}
	}
	if in.Pointers != nil {
		out.Pointers = make(map[string]*nested, len(in.Pointers))
		for k, v := range in.Pointers {
			out.Pointers[k] = nil
			if v != nil {
				out.Pointers[k] = new(nested)
				v.DeepCopyInto(out.Pointers[k])
			}
		}
	}
	if in.Counted != nil {
		out.Counted = make(map[int32][]int64, len(in.Counted))
		for k, v := range in.Counted {
			out.Counted[k] = slices.Clone(v)
		}
	}
	if in.Bytes != nil {
		out.Bytes = make(map[string][]byte, len(in.Bytes))
		for k, v := range in.Bytes {
			out.Bytes[k] = slices.Clone(v)
		}
	}
	for i, p := range in.Array {
		if p != nil {
			out.Array[i] = pointerTo(*p)
		}
	}
	if in.Deep != nil {
		out.Deep = pointerTo(*in.Deep)
		if *in.Deep != nil {
			*out.Deep = pointerTo(**in.Deep)
		}
	}
	in.Own.DeepCopyInto(&out.Own)
	if in.OwnList != nil {
		out.OwnList = make([]byHand, len(in.OwnList))
		for i := range in.OwnList {
			in.OwnList[i].DeepCopyInto(&out.OwnList[i])
		}
	}
	in.OwnMap.DeepCopyInto(&out.OwnMap)
	in.Open.DeepCopyInto(&out.Open)
	if in.Template != nil {
		out.Template = new(corev1.PodTemplateSpec)
		in.Template.DeepCopyInto(out.Template)
	}
	if in.Nothing != nil {
		out.Nothing = new(struct{})
	}
	if in.Nothings != nil {
		out.Nothings = make([]struct{}, len(in.Nothings))
	}
	if in.Recursive != nil {
		out.Recursive = new(recursive)
		in.Recursive.DeepCopyInto(out.Recursive)
	}
}

func (in *nested) DeepCopyInto(out *nested) {
	*out = *in
	out.List = slices.Clone(in.List)
	if in.N != nil {
		out.N = pointerTo(*in.N)
	}
}

func (in *recursive) DeepCopyInto(out *recursive) {
	*out = *in
	if in.Next != nil {
		out.Next = new(recursive)
		in.Next.DeepCopyInto(out.Next)
	}
	if in.Kids != nil {
		out.Kids = make([]recursive, len(in.Kids))
		for i := range in.Kids {
			in.Kids[i].DeepCopyInto(&out.Kids[i])
		}
	}
	if in.Map != nil {
		out.Map = make(map[string]recursive, len(in.Map))
		for k, v := range in.Map {
			var own recursive
			v.DeepCopyInto(&own)
			out.Map[k] = own
		}
	}
}

func (in *withInterface) DeepCopyInto(out *withInterface) {
	*out = *in
	out.Any = runtime.DeepCopyJSONValue(in.Any)
	out.List = slices.Clone(in.List)
}
