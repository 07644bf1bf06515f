package peer

import (
	"encoding/json"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"unsafe"
)

type ready struct {
	Ready     bool   `json:"ready"`
	Framework string `json:"framework"`
	Version   string `json:"version"`
	Go        string `json:"go"`
	Addr      string `json:"addr"`
	DebugAddr string `json:"debug_addr"`
	Pid       int    `json:"pid"`
	CPUs      []int  `json:"cpus"`
}

// Standard output as it was; what is written to it from now on, such as a framework's log, goes to standard error.
func takeStdout() (*os.File, error) {
	fd, err := syscall.Dup(syscall.Stdout)
	if err != nil {
		return nil, err
	}
	syscall.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), "stdout"), syscall.Dup3(syscall.Stderr, syscall.Stdout, 0)
}

// Prints the one line that says where the server is.
func printReady(stdout *os.File, framework string, addr, debugAddr net.Addr) error {
	return json.NewEncoder(stdout).Encode(ready{
		Ready:     true,
		Framework: framework,
		Version:   moduleVersion(framework),
		Go:        runtime.Version(),
		Addr:      addr.String(),
		DebugAddr: "http://" + debugAddr.String(),
		Pid:       os.Getpid(),
		CPUs:      boundCPUs(),
	})
}

// The version of a module that is linked in, "" if there is none of this path.
func moduleVersion(path string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, module := range info.Deps {
		if module.Path == path {
			return module.Version
		}
	}
	return ""
}

// The CPUs that this thread, and so the process unless a thread was bound otherwise, may run on. Empty when the kernel doesn't
// tell.
func boundCPUs() []int {
	cpus := []int{}
	var mask [128]uint64 // of 8,192 CPUs, the most that Linux can be built for
	size, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_GETAFFINITY, 0, unsafe.Sizeof(mask), uintptr(unsafe.Pointer(&mask)))
	if errno != 0 {
		return cpus
	}
	for cpu := range int(size) * 8 {
		if mask[cpu/64]&(1<<(cpu%64)) != 0 {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}
