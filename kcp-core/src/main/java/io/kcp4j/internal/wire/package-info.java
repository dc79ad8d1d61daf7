/** The format of segments and of timestamps, and the interfaces through which layers meet. */
package io.kcp4j.internal.wire;
