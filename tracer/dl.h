/* SPDX-License-Identifier: Apache-2.0
 *
 * Our dlsym and dlvsym, for hosts that look their BLAS up by name. The exported entries are three
 * lines of assembly (dl_entry.S): they ask dl_route where to go and jump there with the arguments
 * and the return address of the host untouched, because the C library answers RTLD_NEXT and
 * RTLD_DEFAULT by who calls it. A call that we must answer ourselves goes to one of the others.
 */
#ifndef TILEWISE_TRACER_DL_H
#define TILEWISE_TRACER_DL_H

/* Where a dlsym (dlvsym) of `name` by `caller` shall go. */
const void *dl_route(void *handle, const char *name, const void *caller);
const void *dl_vroute(void *handle, const char *name, const void *caller);

/* The global scope holds our hook, but nothing behind it: the host's lookup must fail, with the
 * message that it would have had. */
void *dl_absent(void *handle, const char *name);
void *dl_vabsent(void *handle, const char *name, const char *version);

/* The real dlsym (dlvsym), its result replaced by a hook. The host's dlerror() is as without us. */
void *dl_find(void *handle, const char *name);
void *dl_vfind(void *handle, const char *name, const char *version);

#endif
