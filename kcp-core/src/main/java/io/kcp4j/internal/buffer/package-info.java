/** The bytes of segments that wait and the records of those in flight, in rings and chunks. */
package io.kcp4j.internal.buffer;
