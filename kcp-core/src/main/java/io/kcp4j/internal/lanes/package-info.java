/** Lanes of a session: frames, order, credit, and what leaves next. */
package io.kcp4j.internal.lanes;
