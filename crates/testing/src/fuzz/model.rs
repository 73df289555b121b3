//! An array as plainly as can be: a shape, and bytes in C order.

/// The truth.
#[derive(Clone)]
pub struct Model {
    pub typesize: usize,
    pub shape: Vec<i64>,
    pub data: Vec<u8>,
}

/// Every index of a box, in C order.
pub fn indices(shape: &[i64]) -> Vec<Vec<i64>> {
    let mut all = vec![vec![]];
    for len in shape {
        all = all
            .iter()
            .flat_map(|index: &Vec<i64>| {
                (0..*len).map(move |i| {
                    let mut longer = index.clone();
                    longer.push(i);
                    longer
                })
            })
            .collect();
    }
    all
}

/// Where an item is.
pub fn place(shape: &[i64], index: &[i64]) -> usize {
    shape.iter().zip(index).fold(0, |at, (len, i)| at * len + i) as usize
}

/// Items of a shape.
pub fn count(shape: &[i64]) -> usize {
    shape.iter().product::<i64>() as usize
}

impl Model {
    pub fn zeros(shape: &[i64], typesize: usize) -> Model {
        Model {
            typesize,
            shape: shape.to_vec(),
            data: vec![0; count(shape) * typesize],
        }
    }

    fn item(&self, index: &[i64]) -> &[u8] {
        &self.data[place(&self.shape, index) * self.typesize..][..self.typesize]
    }

    /// The items at the indices of each dimension.
    pub fn pick(&self, lists: &[Vec<i64>]) -> Vec<u8> {
        let shape: Vec<i64> = lists.iter().map(|list| list.len() as i64).collect();
        let mut out = Vec::new();
        for at in indices(&shape) {
            let index: Vec<i64> = lists.iter().zip(&at).map(|(l, i)| l[*i as usize]).collect();
            out.extend(self.item(&index));
        }
        out
    }

    /// Overwrites the items at the indices of each dimension.
    pub fn put(&mut self, lists: &[Vec<i64>], new: &[u8]) {
        let shape: Vec<i64> = lists.iter().map(|list| list.len() as i64).collect();
        for (at, item) in indices(&shape).iter().zip(new.chunks(self.typesize)) {
            let index: Vec<i64> = lists.iter().zip(at).map(|(l, i)| l[*i as usize]).collect();
            let from = place(&self.shape, &index) * self.typesize;
            self.data[from..from + self.typesize].copy_from_slice(item);
        }
    }

    /// The same array with `len` more items (or fewer) along an axis, from `at` on; those that come
    /// are zeros.
    pub fn stretched(&self, axis: usize, at: i64, len: i64) -> Model {
        let mut shape = self.shape.clone();
        shape[axis] += len;
        let mut new = Model::zeros(&shape, self.typesize);
        for index in indices(&shape) {
            let mut from = index.clone();
            if len > 0 && index[axis] >= at + len {
                from[axis] -= len;
            } else if len > 0 && index[axis] >= at {
                continue;
            } else if len < 0 && index[axis] >= at {
                from[axis] -= len;
            }
            let to = place(&shape, &index) * self.typesize;
            new.data[to..to + self.typesize].copy_from_slice(self.item(&from));
        }
        new
    }

    /// The same array with another shape, cut or grown at the ends.
    pub fn resized(&self, shape: &[i64]) -> Model {
        let mut new = self.clone();
        for (axis, len) in shape.iter().enumerate() {
            let by = len - new.shape[axis];
            let at = new.shape[axis].min(*len);
            new = new.stretched(axis, at, by);
        }
        new
    }
}

/// The indices of a slice, dimension by dimension.
pub fn ranges(start: &[i64], stop: &[i64]) -> Vec<Vec<i64>> {
    start
        .iter()
        .zip(stop)
        .map(|(a, b)| (*a..*b).collect())
        .collect()
}
