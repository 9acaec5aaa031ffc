// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
)

// workspaceFlags are those that describe a Workspace, as they are typed.
type workspaceFlags struct {
	set, image, home, homePath, shm, save string
	count                                 int32
	command, env, ports, volumes          []string
	fsGroup, userID                       int64
}

// notGiven is a number that nobody types.
const notGiven = math.MinInt64

func (f *workspaceFlags) add(a *app, cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.set, "set", "", "The set that it holds; kubectl aipub sets lists them.")
	flags.Int32Var(&f.count, "count", 1, "How many of the set.")
	flags.StringVar(&f.image, "image", "", "The image of the container.")
	flags.StringArrayVar(&f.command, "command", nil, "A word of the container's command, once for each; the image's own without it.")
	flags.StringArrayVar(&f.env, "env", nil, "NAME=VALUE in the container's environment; can be repeated.")
	flags.StringArrayVar(&f.ports, "port", nil, "PORT or NAME=PORT to reach it at; can be repeated.")
	flags.StringVar(&f.home, "home", "", "SIZE or SIZE:STORAGECLASS of a volume that stays, such as 50Gi.")
	flags.StringVar(&f.homePath, "home-path", "", "Where that volume is in the container. Default /home/user.")
	flags.StringArrayVar(&f.volumes, "volume", nil, "CLAIM:PATH or CLAIM:PATH:ro, a PersistentVolumeClaim that exists; can be repeated.")
	flags.StringVar(&f.shm, "shm", "", "Size of /dev/shm, within the memory of the set.")
	flags.StringVar(&f.save, "save", "", "What a pause keeps: home (its volumes) or commit (its file system as well). Default home.")
	flags.Int64Var(&f.fsGroup, "fs-group", notGiven, "The group that may write to its volumes. Default the image's.")
	flags.Int64Var(&f.userID, "user-id", notGiven, "The user that it runs as. Default the image's.")
	flags.Lookup("fs-group").DefValue, flags.Lookup("user-id").DefValue = "0", "0" // not shown: it is the image's
	// The only error of these is a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("save", cobra.FixedCompletions([]string{"home", "commit"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("set", func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		return a.completeNames(func() nameList { return &api.ResourceSetList{} })(cmd, nil, prefix)
	})
	_ = cmd.RegisterFlagCompletionFunc("image", cobra.NoFileCompletions)
}

// workspace is what the flags describe. The error names each flag that is wrong.
func (f *workspaceFlags) workspace(name, namespace string, args []string) (*api.Workspace, error) {
	w := &api.Workspace{
		TypeMeta:   metav1.TypeMeta{APIVersion: api.GroupVersion.String(), Kind: "Workspace"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: api.WorkspaceSpec{
			Set: strings.TrimPrefix(strings.TrimPrefix(f.set, api.ResourcePrefix), "set-"), Count: f.count, Image: f.image, Command: f.command, Args: args,
		},
	}
	var errs []error
	if f.set == "" {
		errs = append(errs, errors.New("--set is missing: name the set that it holds; kubectl aipub sets lists them"))
	}
	if f.image == "" {
		errs = append(errs, errors.New("--image is missing: name the image of the container, such as jupyter/pytorch-notebook"))
	}
	if f.count < 1 {
		errs = append(errs, fmt.Errorf("--count %d: give 1 or more", f.count))
	}
	for _, read := range []func(*api.WorkspaceSpec) error{f.readEnv, f.readPorts, f.readHome, f.readVolumes, f.readShm, f.readSave, f.readIDs} {
		errs = append(errs, read(&w.Spec))
	}
	return w, errors.Join(errs...)
}

func (f *workspaceFlags) readEnv(s *api.WorkspaceSpec) error {
	for _, text := range f.env {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return fmt.Errorf("--env %s: write NAME=VALUE", text)
		}
		s.Env = append(s.Env, api.WorkspaceEnv{Name: name, Value: &value})
	}
	return nil
}

func (f *workspaceFlags) readPorts(s *api.WorkspaceSpec) error {
	for _, text := range f.ports {
		name, number, named := strings.Cut(text, "=")
		if !named {
			name, number = "port-"+text, text
		}
		n, err := strconv.ParseInt(number, 10, 32)
		if err != nil || n < 1 || n > 65535 || name == "" {
			return fmt.Errorf("--port %s: write PORT or NAME=PORT, with a port from 1 to 65535", text)
		}
		s.Ports = append(s.Ports, api.WorkspacePort{Name: name, Port: int32(n)})
	}
	return nil
}

func (f *workspaceFlags) readHome(s *api.WorkspaceSpec) error {
	if f.home == "" {
		if f.homePath != "" {
			return fmt.Errorf("--home-path %s: there is no home; give its size with --home, such as 50Gi", f.homePath)
		}
		return nil
	}
	size, class, classed := strings.Cut(f.home, ":")
	q, err := readSize("home", f.home, size)
	if err != nil {
		return err
	}
	s.Home = &api.WorkspaceHome{Size: *q, Path: f.homePath}
	if classed {
		s.Home.StorageClassName = &class
	}
	return nil
}

// readSize reads a size of a flag.
func readSize(flag, text, size string) (*resource.Quantity, error) {
	q, err := resource.ParseQuantity(size)
	if err != nil || q.Sign() <= 0 {
		return nil, fmt.Errorf("--%s %s: %q is no size; write one such as 50Gi", flag, text, size)
	}
	return &q, nil
}

// volumeName is what a volume can be named.
var volumeName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

func (f *workspaceFlags) readVolumes(s *api.WorkspaceSpec) error {
	for i, text := range f.volumes {
		parts := strings.Split(text, ":")
		readOnly := len(parts) == 3 && parts[2] == "ro"
		if len(parts) < 2 || len(parts) > 2 && !readOnly || parts[0] == "" || !strings.HasPrefix(parts[1], "/") {
			return fmt.Errorf("--volume %s: write CLAIM:/PATH or CLAIM:/PATH:ro", text)
		}
		name := parts[0]
		taken := slices.ContainsFunc(s.Volumes, func(v api.WorkspaceVolume) bool { return v.Name == name })
		if taken || !volumeName.MatchString(name) { // a claim twice, or with a dot in its name
			name = fmt.Sprintf("volume-%d", i+1)
		}
		s.Volumes = append(s.Volumes, api.WorkspaceVolume{Name: name, ClaimName: parts[0], Path: parts[1], ReadOnly: readOnly})
	}
	return nil
}

func (f *workspaceFlags) readShm(s *api.WorkspaceSpec) (err error) {
	if f.shm != "" {
		s.SharedMemory, err = readSize("shm", f.shm, f.shm)
	}
	return err
}

func (f *workspaceFlags) readSave(s *api.WorkspaceSpec) error {
	switch strings.ToLower(f.save) {
	case "":
	case "home":
		s.Save = api.SaveHome
	case "commit":
		s.Save = api.SaveCommit
	default:
		return fmt.Errorf("--save %s: give home or commit", f.save)
	}
	return nil
}

func (f *workspaceFlags) readIDs(s *api.WorkspaceSpec) error {
	for flag, id := range map[string]struct {
		value int64
		into  **int64
	}{"fs-group": {f.fsGroup, &s.FSGroup}, "user-id": {f.userID, &s.RunAsUser}} {
		switch {
		case id.value == notGiven:
		case id.value < 0:
			return fmt.Errorf("--%s %d: give a number from 0", flag, id.value)
		default:
			*id.into = &id.value
		}
	}
	return nil
}
