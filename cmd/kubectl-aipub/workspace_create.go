// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/reclaim"
)

func newWorkspaceCreate(a *app) *cobra.Command {
	var f workspaceFlags
	wait, dryRun := false, dryRunNone
	cmd := &cobra.Command{
		Use:   "create NAME --set SET --image IMAGE [-- ARG...]",
		Short: "Create a Workspace",
		Long: `Create a Workspace: one container with a set, a home that stays, and a name to reach
it by. What follows -- are the arguments of the container. For all that has no flag
here, start from what --dry-run=client -o yaml prints.`,
		Example: `  # Jupyter with a quarter of a GPU and a home of 50 GiB
  kubectl aipub workspace create kim --set small --image jupyter/pytorch-notebook \
    --port 8888 --home 50Gi --home-path /home/jovyan --fs-group 100 --shm 8Gi --wait

  # What the API server, with its quotas, would say
  kubectl aipub workspace create kim --set small --image jupyter/pytorch-notebook --dry-run=server`,
		ValidArgsFunction: cobra.NoFileCompletions,
		Args: func(cmd *cobra.Command, args []string) error {
			before := cmd.ArgsLenAtDash()
			if before < 0 {
				before = len(args)
			}
			if before != 1 {
				return fmt.Errorf("%s are given; %s takes one, and the arguments of the container behind --", plural(before, "name"), cmd.CommandPath())
			}
			return nil
		},
	}
	out := &output{flags: genericclioptions.NewPrintFlags("")}
	out.flags.OutputFormat = &out.format
	cmd.Flags().StringVarP(&out.format, "output", "o", "", "Print the object instead of a sentence: "+strings.Join(out.allowed(), ", ")+".")
	cmd.Flags().BoolVar(&wait, "wait", false, "Wait until it runs, and show what it waits for.")
	dryRunFlag(cmd, &dryRun, dryRunClient, dryRunServer)
	f.add(a, cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkDryRun(dryRun, dryRunClient, dryRunServer); err != nil {
			return err
		}
		if out.format != "" {
			if err := out.check(); err != nil {
				return err
			}
		}
		w, err := f.workspace(args[0], a.namespace(), args[1:])
		if err != nil {
			return err
		}
		return a.create(cmd.Context(), w, wait, dryRun, out)
	}
	return cmd
}

func (a *app) create(ctx context.Context, w *api.Workspace, wait bool, dryRun string, out *output) error {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(w)
	if err != nil {
		return fmt.Errorf("write workspace: %w", err)
	}
	u := &unstructured.Unstructured{Object: fields}
	unstructured.RemoveNestedField(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	var c *cluster
	if dryRun != dryRunClient {
		if c, err = a.writable(); err != nil {
			return err
		}
		if u, err = a.post(ctx, c, u, dryRun); err != nil {
			return err
		}
	}
	b, err := newBound(workspaceKind(), u, a.now())
	if err != nil {
		return err
	}
	if out.format != "" {
		err = out.object(u, a.Out)
	} else {
		err = a.sayCreated(ctx, c, b, dryRun)
	}
	if err != nil || !wait || dryRun != dryRunNone {
		return err
	}
	return a.follow(ctx, c, b, isRunning)
}

// post has the API server make a Workspace, or only check it.
func (a *app) post(ctx context.Context, c *cluster, u *unstructured.Unstructured, dryRun string) (*unstructured.Unstructured, error) {
	client, err := a.objects(c, workspaceKind(), u.GetNamespace())
	if err != nil {
		return nil, err
	}
	options := metav1.CreateOptions{FieldManager: fieldManager, FieldValidation: metav1.FieldValidationStrict}
	if dryRun == dryRunServer {
		options.DryRun = []string{metav1.DryRunAll}
	}
	made, err := client.Create(ctx, u, options)
	if err != nil {
		return nil, refused(boundRef{kind: workspaceKind(), namespace: u.GetNamespace(), name: u.GetName()}, "create", "created", err)
	}
	return made, nil
}

// sayCreated says what was made, and what to do with it.
func (a *app) sayCreated(ctx context.Context, c *cluster, b *bound, dryRun string) error {
	var rules *reclaim.Rules
	if c != nil {
		rules = a.knownRules(ctx, c, b)
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "%s created%s\n", b.ref, dryRunWords(dryRun))
	writeFields(&text, specFields(b.workspace, rules))
	return a.show(&text)
}

// specFields say what a Workspace is made of, and what a pause keeps of it by rules; nil
// where they are not known.
func specFields(w *api.Workspace, rules *reclaim.Rules) []field {
	fields := []field{{"Set", setWords(map[string]int64{w.Spec.Set: int64(max(w.Spec.Count, 1))})}, {"Image", w.Spec.Image}}
	if words := append(w.Spec.Command, w.Spec.Args...); len(words) > 0 { //nolint:gocritic // a line of its own
		fields = append(fields, field{"Command", strings.Join(words, " ")})
	}
	if h := w.Spec.Home; h != nil {
		class := ""
		if h.StorageClassName != nil {
			class = " of class " + *h.StorageClassName
		}
		fields = append(fields, field{"Home", fmt.Sprintf("%s%s at %s, claim home-%s", h.Size.String(), class, orElse(h.Path, "/home/user"), w.Name)})
	}
	for _, v := range w.Spec.Volumes {
		how := ""
		if v.ReadOnly {
			how = ", read only"
		}
		fields = append(fields, field{"Volume", fmt.Sprintf("claim %s at %s%s", v.ClaimName, v.Path, how)})
	}
	if w.Spec.SharedMemory != nil {
		fields = append(fields, field{"Shared memory", w.Spec.SharedMemory.String()})
	}
	fields = append(fields, field{"A pause keeps", keepsWords(w, rules)})
	if len(w.Spec.Ports) > 0 {
		var ports []string
		for _, p := range w.Spec.Ports {
			ports = append(ports, itoa(p.Port))
		}
		fields = append(fields, field{"Reach it", fmt.Sprintf("kubectl port-forward service/%s -n %s %s", w.Name, w.Namespace, strings.Join(ports, " "))})
	}
	return fields
}
